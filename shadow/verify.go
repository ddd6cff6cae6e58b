package shadow

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// Verify compares the keys that were touched, in both stores, one round. A key that
// differs is looked at again in the next round, and counts as a finding if it still
// does: unless the serving path has changed it meanwhile, or a call of it was not
// mirrored, and it is copied anew.
//
// Call it in quiet times, or run it again and again with [Store.VerifyEvery]. It ends
// with ctx, and once the Store is closed or killed it is an [rmw.ErrClosed]: a round that
// does not come to its end counts for nothing.
func (s *Store) Verify(ctx context.Context) (report.Verify, error) {
	if s.invalid != nil {
		return report.Verify{}, s.invalid
	}
	return s.engine.verify(ctx)
}

// VerifyEvery runs rounds of [Store.Verify] until ctx ends, or the Store is closed or
// killed: one every interval, and, while keys are in doubt, one after a fifth of it. An
// interval that is not positive is five minutes.
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

// state is what the verifier finds of a key.
type state uint8

const (
	stateEqual state = iota
	stateUntimed
	statePending
	stateUnknown
	stateFound
)

func (e *engine) verify(ctx context.Context) (report.Verify, error) {
	tracks, unverified := e.touched.all()
	round := report.Verify{Touched: int64(len(tracks)), Evicted: unverified}
	for _, t := range tracks {
		if err := e.over(ctx); err != nil {
			return report.Verify{}, err
		}
		round.Checked++
		switch e.verifyKey(ctx, t) {
		case stateEqual:
			round.Equal++
		case stateUntimed:
			round.Equal++
			round.Untimed++
		case statePending:
			round.Pending++
		case stateUnknown:
			round.Unknown++
		case stateFound:
		}
	}
	if err := e.over(ctx); err != nil { // then it knows nothing of the last keys
		return report.Verify{}, err
	}
	return e.book.round(round), nil
}

// over tells why there is nothing more to verify.
func (e *engine) over(ctx context.Context) error {
	if e.ctx.Err() != nil {
		return errEnded
	}
	return ctx.Err()
}

// round takes in what a round has found.
func (b *book) round(r report.Verify) report.Verify {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.Rounds, r.Last, r.Findings = b.verified.Rounds+1, time.Now(), b.verified.Findings
	if r.Checked > 0 && r.Equal == r.Checked {
		r.Settled = b.verified.Settled + 1
	}
	b.verified = r
	return r
}

// verifyKey compares one key.
func (e *engine) verifyKey(ctx context.Context, t *track) (found state) {
	if !t.try() {
		return stateUnknown // a call of it is on its way, for as long as that may take
	}
	defer t.unlock()
	if t.evicted {
		return stateUnknown // another track may have it by now
	}
	defer func() {
		if p := recover(); p != nil { // a Project of the user's, say
			e.book.panicked()
			found = stateUnknown
		}
	}()
	if len(t.pending) > 0 {
		return stateUnknown // there is more to come
	}
	began := time.Now()
	a1, leftA, err := e.peekServing(ctx, t.key)
	if err != nil {
		return stateUnknown
	}
	var b rmw.Value
	var leftB time.Duration
	if err := e.ask(func(ctx context.Context) (err error) {
		b, leftB, err = peek(ctx, e.hidden, t.key)
		return err
	}); err != nil {
		return stateUnknown
	}
	a2, _, err := e.peekServing(ctx, t.key)
	if err != nil || !a1.Equal(a2) {
		return stateUnknown
	}
	slack := time.Since(began)
	timed := e.timed()
	if timed && a1.Exists() != b.Exists() && t.soonGone(leftA, leftB, slack) {
		return stateUnknown // it has expired here, and is about to there
	}
	f := t.judge(a1, b)
	if timed && !f.class.Blocks() && a1.Exists() && !t.op.compare.near(leftA, leftB, slack+e.book.cfg.Timeout) {
		f = finding{
			class: report.TTLDiffers, explain: "the key's expiry differs, although it was set anew",
			legacyExpiry: expiryText(leftA), candidateExpiry: expiryText(leftB),
		}
	}
	if !f.class.Blocks() {
		t.doubts, t.healed = 0, 0
		t.holds(t.op.compare.digest(b))
		t.sure, t.equal = true, true
		if !timed {
			return stateUntimed
		}
		t.setLife(leftB)
		return stateEqual
	}
	// Two rounds that saw the same: what is on its way does not stay.
	if pair := [2]digest{t.op.compare.digest(a1), t.op.compare.digest(b)}; t.doubts == 0 || pair != t.doubted {
		t.doubts, t.doubted = 1, pair
		return statePending
	}
	t.doubts = 0
	return e.confirm(t, f, b)
}

// soonGone reports whether the one that is there is about to expire.
func (t *track) soonGone(leftA, leftB, slack time.Duration) bool {
	left := max(leftA, leftB) // the other one has none
	return left != rmw.NoTTL && left <= t.op.compare.tolerance+slack
}

// confirm judges a key that has differed twice, and copies it anew.
func (e *engine) confirm(t *track, f finding, b rmw.Value) state {
	t.gap = e.lockstep.lane(hashOf(t.key.Name)).missed(t, hashOf(t.key.Name)) || t.gap
	f = e.blame(t, f, b)
	t.known, t.left = true, t.doubted[1]
	v, err := e.copyOver(t)
	// Who has changed it meanwhile has mirrored it; if it could not be copied, it is no
	// surprise that it differs.
	t.known, t.gap = false, err != nil && !errors.Is(err, errInput)
	if err == nil {
		t.holds(t.op.compare.digest(v))
	}
	e.book.confirmed(t, f)
	if f.class.Blocks() {
		return stateFound
	}
	return statePending
}

// heals is how often a fleet copies a key anew until an expiry that differs again is
// no matter of order any more.
const heals = 3

// blame tells why a key differs: it may be that somebody's call did not arrive here.
func (e *engine) blame(t *track, f finding, b rmw.Value) finding {
	sole := e.book.cfg.Sole
	gap := finding{class: report.DriftGap}
	switch {
	case f.class == report.TTLDiffers && e.unseen(t):
		t.healed = 0
		return gap
	case f.class == report.TTLDiffers:
		// Updates that change nothing but the expiry may be mirrored in any order. Only one
		// that was copied from the serving path is known to be right.
		t.healed++
		if t.gap || !t.settled() || sole && t.healed < 2 || !sole && t.healed <= heals {
			return gap
		}
	case !sole:
		if !e.strange(t, b) {
			return gap
		}
		f.class, f.explain = report.ForeignWrite, e.foreign(t, b, "the store in the shadow holds what no process has mirrored there")
	case t.gap, !t.certain(), t.gone(b), t.doubted[1] == t.left:
		return gap // it holds what it was left with: the serving path has gone on without us
	case t.sure:
		f.class = report.ForeignWrite
		f.explain = e.foreign(t, b, "the store in the shadow held what it was given, and was changed by another writer")
	}
	return f
}

// foreign explains a value that was not mirrored to its key: it may be another key's.
func (e *engine) foreign(t *track, v rmw.Value, explain string) string {
	if !v.Exists() {
		return explain
	}
	if other := e.touched.sharing(t, t.op.compare.digest(v)); other.Name != "" {
		explain += "; the same value was mirrored to " + e.book.name(other) + ": the candidate may store both keys under one name"
	}
	return explain
}

// unseen reports whether calls of a key may have gone by without a sample since its expiry
// was last judged: no gap tells of those.
func (e *engine) unseen(t *track) bool {
	shares := e.store.shares.Load()
	_, sampled := e.store.sample(t.key.Name)
	changed := shares != t.shares
	t.shares = shares
	return changed || !sampled
}

// judge compares what both stores hold.
func (t *track) judge(legacy, candidate rmw.Value) finding {
	r := t.op.compare.compare(legacy, candidate)
	if r.Same {
		return finding{class: report.Match}
	}
	return finding{
		class: report.ValueDiffers, differences: r.Differences, more: r.More,
		explain: "the stores hold different values, and nobody is changing them",
	}
}

func (e *engine) timed() bool {
	_, a := rmw.As[rmw.Peeker](e.store.serving)
	_, b := rmw.As[rmw.Peeker](e.hidden)
	return a && b
}

func (e *engine) peekServing(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, e.book.cfg.Timeout)
	defer cancel()
	return peek(ctx, e.store.serving, key)
}

// confirmed counts what the verifier has found.
func (b *book) confirmed(t *track, f finding) {
	c := &call{key: t.key, op: t.op}
	f.show(b, c, report.Verifier)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.verified.Findings == nil {
		b.verified.Findings = map[report.Class]int64{}
	}
	b.verified.Findings[f.class]++
	if !f.class.Blocks() {
		return
	}
	b.minute(time.Now()).Diverged++
	b.found(c, report.Verifier, f)
}
