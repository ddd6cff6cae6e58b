package shadow

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/internal/keyhash"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// Verify runs one round: it compares the keys that were touched, in both stores. A key that
// differs is read again in the next round, and is a finding if it still differs. It is no
// finding if the serving path changed it meanwhile, or if a call of it was not mirrored:
// then the verifier copies the key anew.
//
// Call Verify in quiet times, or run rounds with [Store.VerifyEvery]. Verify ends with ctx,
// and returns an [rmw.ErrClosed] once the Store is closed or killed. A round that does not
// come to its end counts for nothing.
func (s *Store) Verify(ctx context.Context) (report.Verify, error) {
	if s.invalid != nil {
		return report.Verify{}, s.invalid
	}
	e := s.engine
	states, unverified := e.touched.all()
	var counts [keyDiffers + 1]int64
	for _, t := range states {
		if err := e.over(ctx); err != nil {
			return report.Verify{}, err
		}
		counts[e.verifyKey(ctx, t)]++
	}
	if err := e.over(ctx); err != nil { // the last keys may be unknown for that reason
		return report.Verify{}, err
	}
	n := int64(len(states))
	return e.counters.round(report.Verify{
		Touched: n, Checked: n, Evicted: unverified, Equal: counts[keyEqual] + counts[keyUntimed],
		Untimed: counts[keyUntimed], Pending: counts[keyPending], Unknown: counts[keyUnknown],
	}), nil
}

// VerifyEvery runs rounds of [Store.Verify] until ctx ends, or the Store is closed or
// killed. The pause between rounds is interval, and a fifth of it while keys are in doubt.
// An interval that is not positive is five minutes.
func (s *Store) VerifyEvery(ctx context.Context, interval time.Duration) {
	if interval <= 0 {
		interval = 5 * time.Minute
	}
	for {
		round, err := s.Verify(ctx)
		if err != nil {
			return
		}
		pause := interval
		if round.Pending > 0 {
			pause = interval / 5
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		case <-s.engine.ctx.Done():
			return
		}
	}
}

// keyResult is the result of a round for one key.
type keyResult uint8

const (
	keyEqual   keyResult = iota
	keyUntimed           // equal values; a store does not tell expiries
	keyPending           // differs; the next round decides
	keyUnknown           // busy, unreadable, or about to expire
	keyDiffers           // a finding
)

// over returns the reason why the verifier must end.
func (e *engine) over(ctx context.Context) error {
	if e.ctx.Err() != nil {
		return errEnded
	}
	return ctx.Err()
}

func (e *engine) verifyKey(ctx context.Context, t *keyState) (result keyResult) {
	if !t.try() {
		return keyUnknown // a call of the key is on its way, which may take any time
	}
	defer t.unlock()
	defer e.counters.onPanic(func() { result = keyUnknown }) // of Domain.Project
	if t.evicted || len(t.pending) > 0 {
		return keyUnknown
	}
	began := time.Now()
	a, leftA, err := e.readServing(ctx, t.key)
	if err != nil {
		return keyUnknown
	}
	b, leftB, err := e.hidden.readTTL(t.key)
	if err != nil {
		return keyUnknown
	}
	again, _, err := e.readServing(ctx, t.key)
	if err != nil || !a.Equal(again) {
		return keyUnknown
	}
	slack := time.Since(began)
	_, timed := rmw.As[rmw.Peeker](e.store.serving)
	timed = timed && e.hidden.peeker != nil
	tolerance := t.op.compare.tolerance
	if left := max(leftA, leftB); timed && a.Exists() != b.Exists() && left != rmw.NoTTL && left <= tolerance+slack {
		return keyUnknown // expired in one store, and about to expire in the other
	}
	f := t.op.compare.judge(a, b, "the stores hold different values while no call changes them")
	if timed && !f.class.Blocks() && a.Exists() && !t.op.compare.near(leftA, leftB, slack+e.cfg.Timeout) {
		f = expiryFinding(leftA, leftB, "the key's expiry differs, although it was set anew")
	}
	if f.class.Blocks() {
		return e.differs(t, f, a, b)
	}
	t.pair, t.healed = [2]digest{}, 0
	t.holds(t.op.compare.digest(b))
	t.sure, t.equal = true, true
	if !timed {
		return keyUntimed
	}
	t.setLife(leftB)
	return keyEqual
}

// differs judges a key that differs. Two rounds must see the same difference: a write that
// is on its way does not stay. Then the key is copied anew.
func (e *engine) differs(t *keyState, f finding, a, b rmw.Value) keyResult {
	pair := [2]digest{t.op.compare.digest(a), t.op.compare.digest(b)}
	if pair != t.pair {
		t.pair = pair
		return keyPending
	}
	t.pair = [2]digest{}
	e.counters.locked(func(*report.Health) { t.miss(e.missingLocked(keyhash.Of(t.key.Name))) })
	f = e.explain(t, f, b)
	t.known, t.left = true, pair[1]
	v, err := e.copyOver(t)
	// errInput: another process changed the key, and mirrored that. After any other error
	// it is no surprise that the key still differs.
	t.known, t.gap = false, err != nil && !errors.Is(err, errInput)
	if err == nil {
		t.holds(t.op.compare.digest(v))
	}
	e.counters.verified(t, f)
	if f.class.Blocks() {
		return keyDiffers
	}
	return keyPending
}

// maxHealed is how often a fleet copies a key anew before an expiry that differs again is a
// finding, and not a matter of order.
const maxHealed = 3

// explain finds the reason why a key differs. DriftGap is a call that did not arrive here.
func (e *engine) explain(t *keyState, f finding, b rmw.Value) finding {
	sole := e.cfg.Sole
	gap := finding{class: report.DriftGap}
	switch {
	case f.class == report.TTLDiffers && e.unseen(t):
		t.healed = 0
		return gap
	case f.class == report.TTLDiffers:
		// Updates that change only the expiry may be mirrored in any order. Only an expiry
		// that was copied from the serving path is known to be right.
		t.healed++
		if t.gap || !t.settled() || sole && t.healed < 2 || !sole && t.healed <= maxHealed {
			return gap
		}
	case !sole && !e.unlogged(t, b):
		return gap
	case !sole:
		f.class = report.ForeignWrite
		f.explain = e.explainForeign(t, b, "the store in the shadow holds a value that no process mirrored there")
	case t.gap, !t.certain(), t.expired(b), t.op.compare.digest(b) == t.left:
		return gap // with t.left, it is the serving path that went on without a call
	case t.sure:
		f.class = report.ForeignWrite
		f.explain = e.explainForeign(t, b, "another writer changed a value that the store in the shadow had stored")
	}
	return f
}

// explainForeign names the other key of a value that was not mirrored to its key, if this
// process mirrored it there.
func (e *engine) explainForeign(t *keyState, v rmw.Value, explain string) string {
	if !v.Exists() {
		return explain
	}
	if other := e.touched.sharing(t, t.op.compare.digest(v)); other.Name != "" {
		explain += "; the same value was mirrored to " + e.counters.keyName(other) + ": the candidate may store both keys under one name"
	}
	return explain
}

// unseen reports whether calls of a key may have gone by unsampled since its expiry was
// last judged: such calls leave no gap.
func (e *engine) unseen(t *keyState) bool {
	shares := e.store.shares.Load()
	_, sampled := e.store.sample(t.key.Name)
	changed := shares != t.shares
	t.shares = shares
	return changed || !sampled
}
