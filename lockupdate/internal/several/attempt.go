package several

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// batch is one or several calls, and their attempts.
type batch struct {
	line  *Line
	calls []*call
	keys  []rmw.Key // of all calls, in the order of their first mention
	ctx   context.Context

	// Guarded by the Line's mu.
	deciding bool // the decision may have been sent
	follows  int  // how many updates have followed each other on one of the keys, without a pause
	early    bool // the keys are free before they are open
	finished bool
	opened   chan struct{} // closed when each key is open, or could not be opened at once
	blocked  bool          // by other processes; only run writes it

	next []seal.Next // what becomes of the keys, once it is decided
	lost int         // attempts with lost replies

	lostSince time.Time // the first of them

	// Of one attempt.
	id, decision string
	seals        int // so that each seal has a nonce of its own
	held         map[string]*held
	size         int    // of the new values, in bytes
	broken       bool   // a reply is missing, so that it must not be decided
	noted        func() // waits until others know the keys
}

// held is a key that the attempt has sealed.
type held struct {
	key       rmw.Key
	nonce     string
	base, now rmw.Value
	ttl       time.Duration // as rmw.Key.TTL, of the last write
}

// next is what becomes of the key.
func (h *held) next() seal.Next {
	n := seal.Next{Key: h.key.Name, Nonce: h.nonce, Value: h.now, TTL: h.ttl}
	n.Kept = h.ttl == 0 && h.now.Equal(h.base)
	return n
}

// run makes attempts until all calls are answered.
func (b *batch) run() {
	defer b.line.finish(b)
	end := func(error) {}
	if len(b.calls) == 1 {
		b.ctx = context.WithoutCancel(b.calls[0].ctx)
	} else {
		callers := make([]context.Context, len(b.calls))
		for i, c := range b.calls {
			callers[i] = c.ctx
		}
		b.ctx, end = b.line.transport.BatchContext(callers)
	}
	err := b.line.transport.UntilReached(b.ctx, func() (err error) {
		for err == nil && b.clear() {
			err = b.attempt()
		}
		return err
	})
	for len(b.calls) > 0 {
		b.answer(b.calls[0], answer{err: err})
	}
	if b.next != nil {
		b.end()
	}
	end(err)
}

// clear drops the calls that no caller waits for, and those that have run often enough. It reports whether any is left.
func (b *batch) clear() bool {
	if b.next != nil {
		return false
	}
	b.line.mu.Lock()
	b.deciding = false
	b.calls = slices.DeleteFunc(b.calls, func(c *call) bool { return c.left })
	b.line.mu.Unlock()
	for _, c := range slices.Clone(b.calls) {
		switch {
		case c.compare == nil && c.attempts >= b.line.options.MaxAttempts:
			b.answer(c, answer{err: errTooMany(c.attempts)})
		case c.attempts == 0 && b.line.gate.Closed():
			b.answer(c, answer{err: rmw.ErrClosed})
		}
	}
	b.dropKeys()
	return len(b.calls) > 0
}

// dropKeys frees the keys that no call names any more: one that cannot be taken must not fail the other calls.
func (b *batch) dropKeys() {
	b.line.mu.Lock()
	defer b.line.mu.Unlock()
	b.keys = slices.DeleteFunc(b.keys, func(key rmw.Key) bool {
		for _, c := range b.calls {
			if c.names(key.Name) {
				return false
			}
		}
		delete(b.line.busy, key.Name)
		return true
	})
	b.line.startLocked()
}

// answer answers a call.
func (b *batch) answer(c *call, a answer) {
	b.line.mu.Lock()
	c.answerLocked(a)
	b.line.mu.Unlock()
	b.calls = slices.DeleteFunc(b.calls, func(other *call) bool { return other == c })
}

// attempt is one attempt. Its error is the reason why no other one can succeed now; nothing was written then, unless it is an
// rmw.ErrOutcomeUnknown.
func (b *batch) attempt() error {
	b.id = b.line.ids.Name(b.line.ids.Next())
	least := slices.MinFunc(b.keys, func(x, y rmw.Key) int { return strings.Compare(x.Name, y.Name) })
	b.decision = seal.DecisionKey(least.Name)
	b.seals, b.size, b.broken, b.noted = 0, 0, false, func() {}
	clear(b.held)
	if taken, err := b.takeAll(); err != nil || !taken {
		return err
	}
	done, failed := b.runCalls()
	b.noted()
	switch {
	case b.broken:
		b.judge(failed, errChanged)
		b.giveBack(nil)
		return b.again(nil)
	case len(done) == 0 && len(failed) == 0:
	case b.mayDecide(done):
		return b.decide(done, failed)
	default:
		b.judge(failed, errChanged)
	}
	b.giveBack(nil)
	return nil
}

// judge tells calls with a failed fn whether its values were of one moment.
func (b *batch) judge(failed []*turn, err error) {
	for _, t := range failed {
		if err == nil { // the caller returns the error of fn
			b.line.mu.Lock()
			t.call.batch = nil
			b.line.mu.Unlock()
			b.calls = slices.DeleteFunc(b.calls, func(c *call) bool { return c == t.call })
		}
		t.verdict <- err
	}
}

// mayDecide reports whether each call with values to store is still waited for. From now on, a caller that leaves does not
// know the outcome.
func (b *batch) mayDecide(done []*turn) bool {
	b.line.mu.Lock()
	defer b.line.mu.Unlock()
	b.deciding = !slices.ContainsFunc(done, func(t *turn) bool { return t.call.left })
	return b.deciding
}

// refused ends an attempt that could not take its keys. A key that cannot be taken at all fails the calls that name it.
func (b *batch) refused(err error) error {
	b.giveBack(nil)
	var of keyError
	switch {
	case b.broken:
		return b.again(err)
	case errors.As(err, &of) && !b.line.transport.Unreached(of.error):
		for _, c := range slices.Clone(b.calls) {
			if slices.ContainsFunc(c.keys, func(k rmw.Key) bool { return k.Name == of.key.Name && k.Kind == of.key.Kind }) {
				b.answer(c, answer{err: of.error})
			}
		}
		return nil
	case errors.As(err, &of):
		return of.error
	}
	return err
}

// runCalls has the fns run one after the other, each on the values that the one before has left. It returns the turns with
// values to store, and those with a failed fn.
func (b *batch) runCalls() (done, failed []*turn) {
	for _, c := range slices.Clone(b.calls) {
		if c.compare != nil {
			if t, same := b.compareCall(c); same {
				done = append(done, t)
			} else {
				b.answer(c, answer{err: errChanged})
			}
			continue
		}
		t := newTurn(c, b.valuesOf(c.keys))
		t.blocked = c.waits || b.blocked
		c.turns <- t
		if !b.awaitTurn(t) || b.broken {
			b.broken = true
			if t.failed {
				failed = append(failed, t)
			}
			return nil, failed
		}
		switch {
		case t.failed:
			failed = append(failed, t)
		case errors.Is(t.err, errLate):
			b.calls = slices.DeleteFunc(b.calls, func(other *call) bool { return other == c })
			b.line.enter(c)
		case t.err != nil || t.changes == nil: // the caller has its answer, or its goroutine has ended
			b.calls = slices.DeleteFunc(b.calls, func(other *call) bool { return other == c })
		case b.apply(t.changes):
			done = append(done, t)
		default: // too much for one attempt
			return done, failed
		}
	}
	return done, failed
}

// valuesOf returns the values as the fns before have left them.
func (b *batch) valuesOf(keys []rmw.Key) []rmw.Value {
	values := make([]rmw.Value, len(keys))
	for i, key := range keys {
		values[i] = b.held[key.Name].now
	}
	return values
}

// compareCall is the turn of a call after its fn has run. It reports whether the values of fn are still there.
func (b *batch) compareCall(c *call) (t *turn, same bool) {
	for _, change := range c.compare {
		if !b.held[change.Key.Name].now.Equal(change.Before) {
			return nil, false
		}
	}
	return &turn{call: c, changes: c.compare}, b.apply(c.compare)
}

// awaitTurn waits for the end of fn, and takes the keys that it gets late. It reports false if fn is slow: its caller goes on
// without the batch.
func (b *batch) awaitTurn(t *turn) bool {
	timer := time.NewTimer(slowAfter)
	defer timer.Stop()
	for {
		select {
		case <-t.ran:
			return true
		case key := <-t.wants:
			v, err := b.takeLate(t.call, key)
			t.got <- late{v, err}
		case <-timer.C:
			if t.state.CompareAndSwap(running, abandoned) {
				t.verdict <- errSlow
				b.calls = slices.DeleteFunc(b.calls, func(c *call) bool { return c == t.call })
				return false
			}
		}
	}
}

// takeLate takes a key that fn gets. If that takes waiting, the call begins anew, with the key among its own.
func (b *batch) takeLate(c *call, key rmw.Key) (rmw.Value, error) {
	if h := b.held[key.Name]; h != nil {
		if h.now.Exists() && h.now.Kind() != key.Kind {
			return rmw.Value{}, fmt.Errorf("%w: the key holds a %v, the Key is of Kind %v", rmw.ErrWrongKind, h.now.Kind(), key.Kind)
		}
		return h.now, nil
	}
	if !b.broken && b.claim(key) {
		met, err := b.take([]rmw.Key{key})
		var of keyError
		switch {
		case errors.As(err, &of) && !b.line.transport.Unreached(of.error):
			return rmw.Value{}, of.error
		case err != nil:
			b.broken = true
		case met.key.Name == "":
			return b.held[key.Name].base, nil
		}
	}
	c.keys = append(slices.Clone(c.keys), key)
	return rmw.Value{}, errLate
}

// apply applies the changes of one fn. It reports false, and applies none, if they are too large to be stored with those before.
func (b *batch) apply(changes []rmw.Change) bool {
	size := b.size
	for _, c := range changes {
		if c.Written {
			size += c.After.Size()
		}
	}
	if b.size > 0 && size > rmw.MaxTxBytes {
		return false
	}
	b.size = size
	for _, c := range changes {
		if !c.Written {
			continue
		}
		h := b.held[c.Key.Name]
		ttl := cmp.Or(c.After.TTL(), c.Key.TTL)
		switch {
		case ttl != 0:
			h.ttl = ttl
		case h.base.Exists() && (!h.now.Exists() || !c.After.Exists()): // deleted meanwhile
			h.ttl = rmw.NoTTL
		}
		h.now = c.After.WithTTL(0)
	}
	return true
}
