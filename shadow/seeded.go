package shadow

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// errInput is what a playback says that was given another value than the one it is the
// update of.
var errInput = errors.New("shadow: the value is not the one that the update was computed from")

// scratch is the name of a key for trials, in the slot of the key that it is for.
func scratch(kind string, key rmw.Key, id string) string {
	name := key.Name
	if !strings.Contains(name, "{") {
		name = "{" + name + "}"
	}
	if id != "" {
		id = ":" + id
	}
	return "~" + kind + ":" + name + id
}

// trial is a call on its way through the seeded comparator.
type trial struct {
	*engine
	it    *item
	began time.Time // before the seed was sown
	key   rmw.Key
	want  rmw.Value     // what shall be stored in the end
	sown  rmw.Result    // of the update that wrote the seed
	seen  rmw.Value     // what the path gave to the update
	inFn  time.Duration // what the update took of it, run again
	// The call makes a key without an expiry. The scratch key gets one all the same: if this
	// process ends in between, nothing shall be left for ever. The verifier sees expiries that
	// nobody asked for.
	mortal bool
}

// seeded compares a call by doing it again, on the same input.
func (e *engine) seeded(it *item) {
	c := it.call
	t := &trial{engine: e, it: it, began: time.Now(), key: c.key}
	t.key.Name = scratch("seed", c.key, e.me+strconv.FormatUint(c.id, 36))
	t.mortal = c.written && !c.old.Exists() && t.expiry() == rmw.NoTTL
	t.want = c.old
	if c.written {
		t.want = c.next
	}
	if c.old.Exists() {
		if err := e.ask(t.sow); err != nil {
			t.failed(err, "the scratch key could not be written")
			return
		}
	}
	defer func() { _ = e.ask(t.clear) }() // it would expire, but for one whose expiry the update takes away
	if c.read {
		t.looked()
		return
	}
	t.updated()
}

func (t *trial) sow(ctx context.Context) (err error) {
	t.sown, err = t.hidden.Update(ctx, t.key, func(context.Context, rmw.Value) (rmw.Value, error) {
		return t.it.old.Untraced().WithTTL(seedTTL), nil
	})
	return err
}

func (t *trial) clear(ctx context.Context) error {
	_, err := t.hidden.Update(ctx, t.key, func(context.Context, rmw.Value) (rmw.Value, error) {
		return rmw.Value{}, nil
	})
	return err
}

// failed ends a trial with an error of the path: an outage is no finding.
func (t *trial) failed(err error, doing string) {
	if why := t.outage(err); why != "" {
		t.pass(t.it, report.Seeded, why)
		return
	}
	t.end(refusedFinding(t.it.call, err, doing))
}

// end settles the trial, unless the operation itself is to blame.
func (t *trial) end(f finding) {
	if f.class.Blocks() && t.it.wavers(t.ctx) {
		f.class = report.Nondeterministic
		f.explain = "the operation is registered as pure, but returned something else on the same input: what it takes from the clock or from chance must come from EnvOf"
	}
	t.settle(t.it, report.Seeded, f)
}

// looked compares a read.
func (t *trial) looked() {
	began := time.Now()
	v, err := t.read(t.key)
	if err != nil {
		t.failed(err, "a read")
		return
	}
	if t.withered(v) {
		return
	}
	t.timed(time.Since(began))
	t.end(t.seedLost(t.it.judge(t.it.old, v, "a value that was stored is read otherwise"), v))
}

// seedLost names a difference a lost write if it is the seed that is not there.
func (t *trial) seedLost(f finding, v rmw.Value) finding {
	return t.lostWrite(f, t.it.op, t.key, t.sown, rmw.Value{}, t.it.old, v)
}

// withered ends a trial whose seed has expired before the path had read it.
func (t *trial) withered(seen rmw.Value) bool {
	over := t.it.old.Exists() && !seen.Exists() && time.Since(t.began)+t.it.op.compare.tolerance >= seedTTL
	if over {
		t.pass(t.it, report.Seeded, report.ShadowTimeout)
	}
	return over
}

// timed notes how long the hidden path took for an operation that the free run does not
// have.
func (t *trial) timed(took time.Duration) {
	t.book.mu.Lock()
	defer t.book.mu.Unlock()
	if !t.it.written || !t.active[index(report.Free)] {
		t.it.op.candidate.Record(took - t.inFn)
	}
}

// updated compares an update.
func (t *trial) updated() {
	c := t.it.call
	var res rmw.Result
	began := time.Now()
	err := t.ask(func(ctx context.Context) (err error) {
		res, err = t.hidden.Update(ctx, t.key, t.play)
		return err
	})
	switch {
	case errors.Is(err, errInput):
		if !t.withered(t.seen) {
			t.end(t.seedLost(t.it.judge(c.old, t.seen, "what was stored is given to the update otherwise"), t.seen))
		}
		return
	case c.refused() && err == nil:
		t.end(finding{
			class: report.ErrorClass, legacy: c.outcome(), candidate: "ok",
			explain: "the serving path returned the operation's refusal, the one in the shadow succeeded",
		})
		return
	case err != nil && !(c.refused() && passesOn(err, c.err)):
		t.failed(err, "an update")
		return
	}
	t.timed(time.Since(began))
	v, left, timed, err := t.look()
	if err != nil {
		t.failed(err, "a read after the update")
		return
	}
	if want := t.expiry(); want != rmw.NoTTL && t.want.Exists() && !v.Exists() && time.Since(t.began)+c.op.compare.tolerance >= want {
		t.pass(t.it, report.Seeded, report.NotApplicable) // it was gone before it was looked at
		return
	}
	f := t.lostWrite(t.it.judge(t.want, v, "the same update of the same value stores something else"), c.op, t.key, res, c.old, t.want, v)
	if !f.class.Blocks() && !c.refused() && !t.it.op.compare.compare(t.want, res.After).Same {
		f = t.it.judge(t.want, res.After, "what the update answers is not what it has stored")
	}
	if !f.class.Blocks() && !c.refused() && !t.it.op.compare.compare(c.old, res.Before).Same {
		f = t.it.judge(c.old, res.Before, "what the update says that it was given is not what was there")
	}
	if !f.class.Blocks() && !c.refused() && res.Written != c.written && t.tells() {
		f = finding{class: report.ValueDiffers, explain: "the update answers otherwise whether it has written"}
	}
	if want := t.expiry(); timed && !f.class.Blocks() && v.Exists() && !t.it.op.compare.near(want, left, time.Since(t.began)) {
		f = finding{
			class: report.TTLDiffers, legacyExpiry: expiryText(want), candidateExpiry: expiryText(left),
			explain: "the same update of the same value leaves another expiry",
		}
	}
	f.legacy, f.candidate = c.outcome(), c.outcome()
	t.end(f)
}

// tells reports whether it can be told by the values that the update has written, or not:
// of two encodings of the same, each path may think its own.
func (t *trial) tells() bool {
	c := t.it.call
	return !c.written || !c.op.compare.compare(c.old, c.next).Same
}

// play is the update, once more.
func (t *trial) play(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
	next, err := t.again(ctx, cur)
	if err == nil && t.mortal {
		next = next.WithTTL(seedTTL)
	}
	return next, err
}

func (t *trial) again(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
	c := t.it.call
	if c.op.compare.digest(cur) != c.op.compare.digest(c.old) {
		t.seen = cur.Untraced()
		return rmw.Value{}, errInput
	}
	if c.fn != nil {
		defer func(began time.Time) { t.inFn += time.Since(began) }(time.Now())
		return c.fn(c.seed.withEnv(ctx), cur)
	}
	return c.playback(cur)
}

// playback returns what fn has returned for the same value.
func (c *call) playback(cur rmw.Value) (rmw.Value, error) {
	switch {
	case c.refused():
		return rmw.Value{}, c.err
	case !c.written:
		return cur, nil
	}
	return c.next.Untraced(), nil
}

// expiry is what the contract says the update leaves of the seed's.
func (t *trial) expiry() time.Duration {
	c := t.it.call
	ttl := cmp.Or(c.next.TTL(), c.key.TTL)
	switch {
	case t.mortal:
		return seedTTL
	case c.written && ttl != 0:
		return ttl
	case c.old.Exists():
		return seedTTL
	}
	return rmw.NoTTL
}

// look reads the scratch key, with its expiry if the path can tell it.
func (t *trial) look() (v rmw.Value, left time.Duration, timed bool, err error) {
	v, err = t.read(t.key)
	peeker, timed := rmw.As[rmw.Peeker](t.hidden)
	if err != nil || !timed {
		return v, 0, false, err
	}
	err = t.ask(func(ctx context.Context) (err error) {
		_, left, err = peeker.Peek(ctx, t.key)
		return err
	})
	return v, left, true, err
}

// judge compares two values.
func (c *call) judge(legacy, candidate rmw.Value, explain string) finding {
	r := c.op.compare.compare(legacy, candidate)
	switch {
	case !r.Same:
		return finding{class: report.ValueDiffers, differences: r.Differences, more: r.More, explain: explain, legacy: c.outcome()}
	case r.EncodingOnly:
		return finding{class: report.EncodingOnly, explain: "the bytes differ, the documents do not"}
	case !c.written:
		return finding{class: report.MatchNoop}
	}
	return finding{class: report.Match}
}

// wavers runs a pure operation twice more, until ctx ends, and reports whether it does not return what
// it has returned.
func (c *call) wavers(ctx context.Context) bool {
	if c.fn == nil {
		return false
	}
	for range 2 {
		next, err := c.fn(c.seed.withEnv(ctx), c.old.Untraced())
		if (err != nil) != c.refused() || err != nil && codeOf(err) != codeOf(c.err) {
			return true
		}
		if err == nil && !c.op.compare.compare(c.next, next).Same {
			return true
		}
	}
	return false
}
