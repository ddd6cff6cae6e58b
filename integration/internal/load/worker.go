package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// part is the current load pattern.
type part int32

const (
	even   part = iota // keys with equal frequency
	skewed             // a Zipf distribution: a fifth for the first key
	hot                // one key for all
	ending             // slow functions, so that many are running when the stores close
	parts
)

func (p part) String() string { return [parts]string{"even", "skewed", "one key", "ending"}[p] }

const (
	// exponent of Zipf's law: with it the first of 10,000 keys gets a fifth.
	exponent = 1.2

	// endingWork is the duration of a function at the end, and heldFor that of a holder's: a renewal at
	// half the lease and one at its end.
	endingWork = lease / 4
	heldFor    = 3 * lease / 2

	// ownPace: a store that holds a lock commits its queue about every millisecond, and checks after ten
	// for other waiters.
	ownPace = 5 * time.Millisecond

	// queuing: at the end one worker in queuing updates the contended key.
	queuing = 10
)

type worker struct {
	*play
	*member
	number int
	rng    *rand.Rand
	zipf   *rand.Zipf
	served atomic.Int64 // acknowledged before the ending
}

func newWorker(p *play, number int) *worker {
	rng := rand.New(rand.NewPCG(p.Seed, uint64(number)))
	return &worker{
		play: p, member: p.members[number%len(p.members)], number: number,
		rng: rng, zipf: rand.NewZipf(rng, exponent, 1, uint64(p.Keys-1)),
	}
}

func (w *worker) run() {
	for {
		if err := w.step(part(w.part.Load())); errors.Is(err, rmw.ErrClosed) {
			return
		}
	}
}

// step runs one update, of a key as the part selects it.
func (w *worker) step(p part) error {
	key, work := 0, time.Duration(0)
	switch {
	case p == even:
		key = w.rng.IntN(w.Keys)
	case p == skewed:
		key = int(w.zipf.Uint64())
	case p == ending:
		// Not the contended key: calls still wait for it, and are measured.
		if work, key = endingWork, 1; w.number%queuing > 0 {
			key += w.rng.IntN(w.Keys - 1)
		}
	}
	if p == hot {
		w.servedAt.CompareAndSwap(0, int64(time.Since(w.began)))
	}
	took, err := w.update(w.member, rmw.Key{Name: w.keys.name(key), Label: "shared"}, key, w.rng.Uint64(), work)
	if err != nil {
		return err
	}
	if w.waits[p].add(took); p == hot {
		w.hot.Add(1)
		w.turn()
	}
	w.sweeper.record(took)
	if p != ending {
		w.served.Add(1)
	}
	return nil
}

// turn records the time a store was without the key, if another store updated the key meanwhile and the
// time exceeds the gap between updates under one lock. On a slow machine either alone says nothing: a store
// pauses under its own lock, and the last answer of a lock comes after the first one of the next.
func (w *worker) turn() {
	now := int64(time.Since(w.began))
	was, others := w.servedAt.Swap(now), w.hotOfOthers(w.member)
	passed := others - w.others.Swap(others)
	if without := time.Duration(now - was); was > 0 && passed > 0 && without > ownPace {
		w.turns.add(without)
		w.passed.add(passed)
	}
}

// hotOfOthers counts the updates of the contended key by the other stores.
func (p *play) hotOfOthers(m *member) (n int64) {
	for _, other := range p.members {
		if other != m {
			n += other.hot.Load()
		}
	}
	return n
}

// hold repeatedly updates a key of few callers, slowly.
func (p *play) hold(m *member, key int, rng *rand.Rand) {
	for {
		switch _, err := p.update(m, rmw.Key{Name: p.keys.name(key), Label: "held"}, key, rng.Uint64(), heldFor); {
		case errors.Is(err, rmw.ErrClosed):
			return
		case err == nil:
			p.held.Add(1)
		}
	}
}

// update adds one to a key with a function of that duration, and records the outcome.
func (p *play) update(m *member, key rmw.Key, number int, id uint64, work time.Duration) (time.Duration, error) {
	var entered atomic.Bool
	began := time.Now()
	p.calls.Add(1)
	_, err := m.Update(context.Background(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		entered.Store(true)
		r, err := parse(cur.Text())
		if err == nil && work > 0 {
			p.inside.Add(1)
			defer p.inside.Add(-1)
			if err = pause(ctx, work); err != nil {
				p.heldLost.Add(1)
			}
		}
		return r.with(id).value(), err
	})
	took := time.Since(began)
	p.calls.Add(-1)
	expected := &p.expected.keys[number]
	switch {
	case err == nil:
		expected.acknowledged.Add(1)
		expected.sum.Add(id)
		p.updates.Add(1)
	case errors.Is(err, rmw.ErrOutcomeUnknown):
		expected.unknown.Add(1)
	case errors.Is(err, rmw.ErrClosed):
		if entered.Load() {
			p.abandoned.Add(1)
		}
	default:
		p.expected.failed.Add(1)
		text := fmt.Sprint(key.Name, ": ", err)
		p.expected.example.CompareAndSwap(nil, &text)
		_ = pause(context.Background(), 5*time.Millisecond) // a refused connection must not make a busy loop
	}
	return took, err
}

// pause waits for d, or returns the cause of ctx's end.
func pause(ctx context.Context, d time.Duration) error {
	_ = redisx.Sleep(ctx, d)
	return context.Cause(ctx)
}
