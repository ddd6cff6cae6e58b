package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// part is the current load pattern.
type part int32

const (
	even    part = iota // keys with equal frequency
	skewed              // a Zipf distribution: a fifth for the first key
	hot                 // one key for all
	closing             // slow functions, so that many are running when the stores close
	parts
)

func (p part) String() string { return [parts]string{"even", "skewed", "one key", "closing"}[p] }

const (
	// zipfExponent: with it the first of 10,000 keys gets a fifth.
	zipfExponent = 1.2

	// closingWork is the duration of a function while the stores close, and loadHeld that of a holder's: a
	// renewal at half the lease and one at its end.
	closingWork = loadLease / 4
	loadHeld    = 3 * loadLease / 2

	// queuing: one worker in queuing updates the contended key while the stores close.
	queuing = 10

	loadKeysHeld = loadHolders * processes / 2 // keys of the holders
	loadPrefix   = keyPrefix + "load:"
)

func loadKey(number int) string { return loadPrefix + strconv.Itoa(number) }

// loadKeyNumber parses a key; ours is false if it does not name a value.
func loadKeyNumber(name string) (number int, ours bool) {
	text, ours := strings.CutPrefix(name, loadPrefix)
	number, err := strconv.Atoi(text)
	return number, ours && err == nil
}

type loadWorker struct {
	*loading
	*loadMember
	number int
	rng    *rand.Rand
	zipf   *rand.Zipf
	served atomic.Int64 // acknowledged before the stores close
}

func newLoadWorker(l *loading, number int) *loadWorker {
	rng := rand.New(rand.NewPCG(l.seed, uint64(number)))
	return &loadWorker{
		loading: l, loadMember: l.members[number%len(l.members)], number: number,
		rng: rng, zipf: rand.NewZipf(rng, zipfExponent, 1, uint64(l.keys-1)),
	}
}

func (w *loadWorker) run(working context.Context) {
	for working.Err() == nil {
		if err := w.step(part(w.part.Load())); errors.Is(err, rmw.ErrClosed) {
			return
		}
	}
}

// step runs one update, of a key as the part selects it.
func (w *loadWorker) step(p part) error {
	key, work := 0, time.Duration(0)
	switch {
	case p == even:
		key = w.rng.IntN(w.keys)
	case p == skewed:
		key = int(w.zipf.Uint64())
	case p == closing:
		if work, key = closingWork, 1; w.number%queuing > 0 {
			key += w.rng.IntN(w.keys - 1)
		}
	}
	began := time.Now()
	seen, err := w.update(context.Background(), w.loadMember, key, w.rng.Uint64(), work)
	if err != nil {
		return err
	}
	now := time.Now()
	w.waits[p].add(int64(now.Sub(began)))
	at := int64(now.Sub(w.began))
	if was := w.lastAck.Swap(at); was > 0 {
		w.gaps[p].add(at - was)
	}
	if p == hot {
		w.turned(w.loadMember, seen)
	}
	if p != closing {
		w.served.Add(1)
	}
	return nil
}

// turned counts a turn if the update followed one of another store, and the turns that the other stores took
// since the last one. The servers' order decides, and no clock.
func (l *loading) turned(m *loadMember, seen record) {
	if seen.store == m.number {
		return
	}
	turn := seen.turn + 1
	m.turns.Add(1)
	if last := m.turn.Swap(turn); last > 0 {
		l.between.add(turn - last - 1)
	}
}

// hold repeatedly updates a key of few callers, slowly.
func (l *loading) hold(working context.Context, m *loadMember, key int, rng *rand.Rand) {
	for working.Err() == nil {
		began := time.Now()
		switch _, err := l.update(working, m, key, rng.Uint64(), loadHeld); {
		case errors.Is(err, rmw.ErrClosed):
			return
		case err == nil && time.Since(began) > loadLease && working.Err() == nil:
			l.held.Add(1)
		}
	}
}

// update adds one to a key with a function that lasts for work, or until the round ends. It records the
// outcome, and returns the value that the function received.
func (l *loading) update(working context.Context, m *loadMember, number int, id uint64, work time.Duration) (record, error) {
	var seen atomic.Pointer[record] // fn may run again, or after a refused call has returned
	l.calls.Add(1)
	key := rmw.Key{Name: loadKey(number), Label: "load"}
	_, err := m.Update(context.Background(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		r, err := parseRecord(cur.Text())
		seen.Store(&r)
		if err == nil && work > 0 {
			l.inside.Add(1)
			defer l.inside.Add(-1)
			if !l.slow(ctx, working, work) {
				l.heldLost.Add(1)
				err = context.Cause(ctx)
			}
		}
		return r.with(id, m.number).value(), err
	})
	l.calls.Add(-1)
	r := seen.Load()
	if errors.Is(err, rmw.ErrClosed) {
		if r != nil {
			l.abandoned.Add(1)
		}
		return record{}, err
	}
	l.tally.record(number, id, err)
	if err != nil {
		_ = pause(context.Background(), 5*time.Millisecond) // a refused connection must not make a busy loop
		return record{}, err
	}
	return *r, nil
}

// slow waits for d, or until working ends. It returns false if ctx, that of the lock, ended first.
func (l *loading) slow(ctx, working context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-working.Done():
	case <-time.After(d):
	}
	return true
}

// record is the value of a key: its number of updates, and the sum of their random ids. The sum detects a
// lost update that a duplicate one would hide in the count, and the value stays small. turn is the number of
// times that another store than before updated it, and store the last one.
type record struct {
	n     int64
	sum   uint64
	turn  int64
	store int
}

func parseRecord(text string) (r record, err error) {
	if text == "" {
		return r, nil
	}
	if _, err := fmt.Sscanf(text, "%d %x %d %d", &r.n, &r.sum, &r.turn, &r.store); err != nil {
		return r, fmt.Errorf("a key holds %q, want a count, a sum, a turn and a store: %w", text, err)
	}
	return r, nil
}

func (r record) with(id uint64, store int) record {
	if r.store != store {
		r.turn++
	}
	return record{r.n + 1, r.sum + id, r.turn, store}
}

func (r record) value() rmw.Value {
	return rmw.String(fmt.Sprintf("%d %x %d %d", r.n, r.sum, r.turn, r.store))
}

// peak keeps the largest of some numbers. It is safe for concurrent use.
type peak struct {
	mu sync.Mutex
	peaked
}

// peaked is the number of numbers, and the largest one.
type peaked struct{ N, Most int64 }

func (p *peak) add(v int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.N++
	p.Most = max(p.Most, v)
}

func (p *peak) value() peaked {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.peaked
}

func (p *peak) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.peaked = peaked{}
}
