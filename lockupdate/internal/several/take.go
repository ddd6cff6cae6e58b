package several

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/rmw"
)

// takeAll takes all keys. It waits for keys that others have taken, in the order of their names, with those before them. It
// reports false if the attempt must begin anew.
func (b *batch) takeAll() (taken bool, err error) {
	began := time.Now()
	var own string // seal of this process that was in the way last
	for {
		left := b.keys
		if len(b.held) > 0 {
			left = slices.DeleteFunc(slices.Clone(left), func(key rmw.Key) bool { return b.held[key.Name] != nil })
		}
		sent := time.Now()
		met, err := b.take(left)
		trip := time.Since(sent)
		if err != nil {
			return false, b.refused(err)
		}
		if met.key.Name == "" {
			return true, nil
		}
		if met.seal != nil && met.seal.Nonce != own && b.line.awaitOwn(met.key.Name, met.seal.Nonce) {
			own = met.seal.Nonce
			continue
		}
		b.line.mu.Lock()
		b.blocked = true
		b.line.mu.Unlock()
		b.giveBack(func(h *held) bool { return h.key.Name > met.key.Name })
		err = b.await(met)
		if err == nil { // another process that updates the same keys may be in step
			err = redisx.Sleep(b.ctx, rand.N(min(4*trip, 50*time.Millisecond)+1)) //nolint:gosec // jitter
		}
		if err != nil || time.Since(began) > seal.Patience/2 { // else another process would abort it
			b.giveBack(nil)
			return false, err
		}
	}
}

// await waits until a key is open that another update has sealed.
func (b *batch) await(met met) error {
	if met.seal == nil {
		return redisx.Sleep(b.ctx, 10*time.Millisecond) // its slot moves
	}
	return b.line.values.End(b.ctx, met.key, *met.seal)
}

// met is the least key that could not be taken.
type met struct {
	key  rmw.Key
	seal *seal.Met // nil: its slot moves
}

// keyError is why a key cannot be taken at all.
type keyError struct {
	key rmw.Key
	error
}

func (e keyError) Unwrap() error { return e.error }

// take takes keys in one flush. An error means that the attempt is over.
func (b *batch) take(keys []rmw.Key) (first met, err error) {
	before := b.noted
	wait := b.line.index.note(keys)
	b.noted = func() { before(); wait() }
	b.seals++
	nonce := b.id
	if b.seals > 1 {
		nonce += "/" + strconv.Itoa(b.seals)
	}
	check := seal.Check(b.line.check.Load())
	cmds := make([]*driver.Command, len(keys))
	for i, key := range keys {
		cmds[i] = driver.Take(key, nonce, b.decision, check)
	}
	ctx, cancel := context.WithTimeout(b.ctx, answerWithin<<min(b.lost, 5))
	defer cancel()
	if err := b.line.transport.Once(ctx, cmds[0], cmds[1:]...); err != nil {
		// Also if it was not sent in time: that is no reason to fail the calls.
		if errors.Is(err, rmw.ErrOutcomeUnknown) || ctx.Err() != nil && b.ctx.Err() == nil {
			b.missing(keys, nonce)
		}
		return met{}, err
	}
	for i, key := range keys {
		taken, errKey := cmds[i].Taken(key)
		switch {
		case errKey == nil && taken.Granted:
			b.held[key.Name] = &held{key: key, nonce: nonce, base: taken.Value, now: taken.Value}
			if check == seal.CheckAll && taken.Check != check {
				b.line.check.Store(int32(taken.Check))
			}
		case errKey == nil:
			if first.key.Name == "" || key.Name < first.key.Name {
				first = met{key, taken.Met}
			}
		case redisx.OutcomeOf(errKey) == redisx.Unknown:
			b.missing(keys[i:i+1], nonce)
			err = cmp.Or(err, errKey)
		default:
			err = cmp.Or(err, error(keyError{key, errKey}))
		}
	}
	return first, err
}

// missing records keys without an answer to their take: it may be executed now or later, so that they are given back as well,
// now and by the next sweep, and nothing may be decided any more.
func (b *batch) missing(keys []rmw.Key, nonce string) {
	b.broken = true
	for _, key := range keys {
		b.held[key.Name] = &held{key: key, nonce: nonce}
		b.line.index.expect(key.Name)
	}
}
