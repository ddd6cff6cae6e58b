package shadow

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
	"github.com/unwatch/unwatch/shadow/internal/notcompared"
	"github.com/unwatch/unwatch/shadow/report"
)

// Lifetimes of scratch keys.
const (
	seedTTL = time.Minute
	freeTTL = 10 * time.Minute
)

// scratchPrefix begins the names of all scratch keys. A cut-over leaves such keys alone.
const scratchPrefix = "~shadow:"

// scratch returns the name of a scratch key, in the slot of the key that it is for.
func scratch(kind string, key rmw.Key, id string) string {
	name := key.Name
	if !strings.Contains(name, "{") {
		name = "{" + name + "}"
	}
	if id != "" {
		id = ":" + id
	}
	return scratchPrefix + kind + ":" + name + id
}

// idOf identifies a call among those of all processes, also after a restart.
func (e *engine) idOf(it *item) string { return e.me + strconv.FormatUint(it.id, 36) }

// trial replays one call on a scratch key that holds the call's input.
type trial struct {
	*engine
	it      *item
	began   time.Time // before the input was written
	key     rmw.Key
	want    rmw.Value     // the expected value in the end
	input   rmw.Result    // of the update that wrote the input
	given   rmw.Value     // the value that the path gave to the update
	inFn    time.Duration // spent in a pure operation
	expires bool          // see expiry
}

// newTrial returns the trial of a call, with an id for its scratch key.
func (e *engine) newTrial(it *item, id string) *trial {
	t := &trial{engine: e, it: it, began: time.Now(), key: it.key, want: it.old}
	t.key.Name = scratch("seed", it.key, id)
	t.expires = it.written && !it.old.Exists() && t.expiry() == rmw.NoTTL
	if it.written {
		t.want = it.next
	}
	return t
}

// seeded compares a call by a replay on the same input.
func (e *engine) seeded(it *item) {
	if it.several != nil {
		e.settle(it, report.Seeded, e.seededSeveral(it))
		return
	}
	t := e.newTrial(it, e.idOf(it))
	f := t.run()
	if f.class.Blocks() && it.nondeterministic(e.ctx) {
		f.class, f.explain = report.Nondeterministic, notPure
	}
	e.settle(it, report.Seeded, f)
}

const notPure = "the operation is registered as pure, but returned another result on the same input: " +
	"it must take time, ids and random numbers from EnvOf"

// run returns the finding of the trial.
func (t *trial) run() finding {
	if err := t.prepare(); err != nil {
		return t.hidden.failure(t.it.call, err, noInput)
	}
	defer t.remove()
	if t.it.read {
		return t.read()
	}
	return t.update()
}

const noInput = "the scratch key could not be written"

// prepare writes the input.
func (t *trial) prepare() (err error) {
	if t.it.old.Exists() {
		t.input, err = t.hidden.update(t.key, always(driver.Untraced(t.it.old).WithTTL(seedTTL)))
	}
	return err
}

// remove deletes the scratch key: it would expire, unless the update removed its expiry.
func (t *trial) remove() { _, _ = t.hidden.update(t.key, always(rmw.Value{})) }

func (t *trial) read() finding {
	began := time.Now()
	v, err := t.hidden.read(t.key)
	if err != nil {
		return t.hidden.failure(t.it.call, err, "a read")
	}
	f := t.judgeInput(v, "the path stored a value and reads another one")
	if f.missed == "" {
		t.recordLatency(time.Since(began))
	}
	return f
}

// judgeInput compares the call's input with the input that the path returned.
func (t *trial) judgeInput(got rmw.Value, explain string) finding {
	c := t.it.call
	if c.old.Exists() && !got.Exists() && time.Since(t.began)+c.op.compare.tolerance >= seedTTL {
		return finding{missed: notcompared.ShadowTimeout} // the scratch key expired first
	}
	return t.lostWrite(c.judge(c.old, got, explain), c.op.compare, t.key, t.input, rmw.Value{}, c.old, got)
}

func (t *trial) recordLatency(took time.Duration) { t.engine.recordLatency(t.it, took-t.inFn) }

// recordLatency records the latency of an operation that the free run does not measure.
func (e *engine) recordLatency(it *item, took time.Duration) {
	if it.written && e.active[index(report.Free)] {
		return
	}
	e.counters.locked(func(*report.Health) { it.op.Candidate.Record(took) })
}

func (t *trial) update() finding {
	c := t.it.call
	began := time.Now()
	res, err := t.hidden.update(t.key, t.play)
	switch {
	case errors.Is(err, errInput):
		return t.judgeInput(t.given, "the path stored a value and gives another one to the update")
	case c.refused() && err == nil:
		return c.notRefused()
	case err != nil && !(c.refused() && passesOn(err, c.err)):
		return t.hidden.failure(c, err, "an update")
	}
	t.recordLatency(time.Since(began))
	return t.left(res)
}

func (c *call) notRefused() finding {
	return finding{
		class: report.ErrorClass, legacy: c.outcome(), candidate: "ok",
		explain: "the serving path returned the operation's refusal, the one in the shadow succeeded",
	}
}

// left compares the value and the expiry that the update left.
func (t *trial) left(res rmw.Result) finding {
	c := t.it.call
	v, left, err := t.hidden.readTTL(t.key)
	if err != nil {
		return t.hidden.failure(c, err, "a read after the update")
	}
	if want := t.expiry(); want != rmw.NoTTL && t.want.Exists() && !v.Exists() && time.Since(t.began)+c.op.compare.tolerance >= want {
		return finding{missed: notcompared.NotApplicable} // the key expired before the read
	}
	f := t.judge(res, v, left)
	f.legacy, f.candidate = c.outcome(), c.outcome()
	return f
}

// judge compares everything that the update left: the stored value, both values and the
// flag of its Result, and the expiry.
func (t *trial) judge(res rmw.Result, v rmw.Value, left time.Duration) finding {
	c, compare := t.it.call, t.it.op.compare
	f := c.judge(t.want, v, "the same update of the same value stores another value")
	f = t.lostWrite(f, compare, t.key, res, c.old, t.want, v)
	switch {
	case f.class.Blocks():
	case !c.refused() && !compare.same(t.want, res.After):
		return c.judge(t.want, res.After, "Result.After of the update is not the stored value")
	case !c.refused() && !compare.same(c.old, res.Before):
		return c.judge(c.old, res.Before, "Result.Before of the update is not the value that was stored before")
	// Two encodings of one document: each path may decide for itself whether to write.
	case !c.refused() && res.Written != c.written && !(c.written && compare.same(c.old, c.next)):
		return finding{class: report.ValueDiffers, explain: "Result.Written of the update differs"}
	case t.hidden.peeker != nil && v.Exists() && !compare.near(t.expiry(), left, time.Since(t.began)):
		return expiryFinding(t.expiry(), left, "the same update of the same value leaves another expiry")
	}
	return f
}

// play repeats the update, on the input that it was computed from only.
func (t *trial) play(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
	c := t.it.call
	if !c.op.compare.same(c.old, cur) {
		t.given = driver.Untraced(cur)
		return rmw.Value{}, errInput
	}
	next, err := t.result(ctx, cur)
	if err == nil && t.expires {
		next = next.WithTTL(seedTTL)
	}
	return next, err
}

// result returns the result of the call's fn, from a new run if the operation is pure.
func (t *trial) result(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
	c := t.it.call
	switch {
	case c.fn != nil:
		began := time.Now()
		next, err := c.fn(c.seed.withEnv(ctx), cur)
		t.inFn += time.Since(began)
		return next, err
	case c.refused():
		return rmw.Value{}, c.err
	case !c.written:
		return cur, nil
	}
	return driver.Untraced(c.next), nil
}

// expiry returns the expiry that the contract asks for after the update. A call that
// creates a key without an expiry gets one on the scratch key: the key must not stay for
// ever if this process ends.
func (t *trial) expiry() time.Duration {
	c := t.it.call
	ttl := cmp.Or(c.next.TTL(), c.key.TTL)
	switch {
	case t.expires:
		return seedTTL
	case c.written && ttl != 0:
		return ttl
	case c.old.Exists():
		return seedTTL
	}
	return rmw.NoTTL
}

// nondeterministic runs a pure operation twice more and reports whether it returns another
// result than on the serving path.
func (c *call) nondeterministic(ctx context.Context) bool {
	if c.fn == nil {
		return false
	}
	for range 2 {
		next, err := c.fn(c.seed.withEnv(ctx), driver.Untraced(c.old))
		if (err != nil) != c.refused() || err != nil && codeOf(err) != codeOf(c.err) {
			return true
		}
		if err == nil && !c.op.compare.same(c.next, next) {
			return true
		}
	}
	return false
}
