package rmwtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/goroutine"
	"github.com/unwatch/unwatch/internal/twin"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
)

// call is a call of a Store that runs.
type call struct {
	*run
	*step
	parent    context.Context
	ctx       context.Context
	cancel    context.CancelFunc
	key       rmw.Key
	effect    *effect
	goroutine string
	calls     int
	cancelled bool
	slept     time.Duration
	out       *code   // that of the call
	fns       []*code // the events of each call of fn
	cancelAt  int
	rivals    *code // that of the Transact that began in fn
	rivalOver <-chan struct{}
	wasClosed bool
	stop      func() bool
}

// call begins a call of a Store.
func (r *run) call(ctx context.Context, s *step, op string, out *code) *call {
	c := &call{
		run: r, step: s, parent: ctx, key: r.rkey(s.key, s.ttl), goroutine: goroutine.ID(), out: out,
		wasClosed: r.stores[s.store].closed.Load(),
	}
	c.ctx, c.cancel = context.WithTimeout(context.WithValue(ctx, ctxKey{}, s), callLimit)
	c.stop = func() bool { return false }
	switch {
	case s.cancel == cancelBefore:
		c.cancelled = true
		c.cancel()
	case s.cancel == cancelAtCommand && r.Faults != nil:
		c.cancelAt = max(s.nth, 1+s.edit.pick%3)
		c.cancelled = true
		r.faulty = false
		c.stop = r.Faults.Arm(c.cancelAt, Fault{Do: c.cancel})
	}
	c.effect = r.begin(fmt.Sprintf("step %d: %s.%s of key %d", r.index, r.storeName(s.store), op, s.key))
	return c
}

// violation records a violation by the call.
func (c *call) violation(format string, args ...any) {
	c.Errorf("step %d: %s", c.index, fmt.Sprintf(format, args...))
}

// read runs a Read or a Peek.
func (r *run) read(ctx context.Context, s *step, out *code) {
	c := r.call(ctx, s, "Read", out)
	defer c.cancel()
	var v rmw.Value
	var left time.Duration
	var err error
	p, ok := rmw.As[rmw.Peeker](r.stores[s.store].Store)
	if ok && s.kind == doPeek {
		v, left, err = p.Peek(c.ctx, c.key)
	} else {
		v, err = r.stores[s.store].Read(c.ctx, c.key)
	}
	c.writeRead(ok && s.kind == doPeek, v, err)
	switch {
	case err == nil && c.wasClosed:
		c.violation("Read returned no error after Close")
	case err == nil && s.cancel == cancelBefore:
		c.violation("Read returned no error, and its ctx had ended before")
	case err == nil:
		r.history.end(c.effect, part{key: s.key, seen: driver.Untraced(v), left: left})
	case errors.Is(err, rmw.ErrWrongKind):
		r.history.end(c.effect, part{key: s.key, not: true, kind: c.key.Kind})
	}
	if errors.Is(err, rmw.ErrOutcomeUnknown) {
		c.violation("Read: %v", err)
	}
	r.judge(s, "Read", 0, err, c.cancelled || ctx.Err() != nil, 0)
}

// update runs an Update.
func (r *run) update(ctx context.Context, s *step, out *code) {
	c := r.call(ctx, s, "Update", out)
	defer c.cancel()
	var in, next rmw.Value
	var of, err error // fn's own, and Update's
	returned := false
	end := twin.Endings()[s.ending]
	defer func() {
		p := recover()
		c.writeUpdate(end, next, err)
		switch {
		case p != nil && (end.Panic == nil || p != end.Panic || c.calls < s.at):
			c.violation("Update panicked: %v", p)
		case p == nil && !returned && !end.Exit:
			c.violation("Update ended its goroutine")
		}
	}()
	var res rmw.Result
	res, err = r.stores[s.store].Update(c.ctx, c.key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		c.begin()
		in = driver.Untraced(cur)
		next, of = s.edit.apply(c.key.Kind, in), nil
		c.inFn(ctx, func(rmw.Value) rmw.Value {
			if s.edit.name == "increment" {
				return next
			}
			return next.WithTTL(0)
		})
		if c.calls >= s.at && s.ending > 0 {
			of = c.endFn(end)
			return rmw.Value{}, of
		}
		if s.edit.name == "twin" {
			c.fn().add("return %s, nil", s.edit.code(c.key.Kind, next))
		}
		return s.edit.apply(c.key.Kind, cur), nil
	})
	returned = true
	c.stop()
	c.judgeUpdate(res, err, of, in, next)
}

// begin begins a call of fn.
func (c *call) begin() {
	c.calls++
	c.fns = append(c.fns, new(code))
}

// fn is the code of the present call of fn.
func (c *call) fn() *code { return c.fns[len(c.fns)-1] }

// judgeUpdate compares the answer of an Update with the last call of fn.
func (c *call) judgeUpdate(res rmw.Result, err, of error, in, out rmw.Value) {
	c.hides(err, in, out)
	if res.Attempts != c.calls {
		c.violation("Result.Attempts is %d, fn was called %d times", res.Attempts, c.calls)
	}
	if err != nil && (res.Before.Exists() || res.After.Exists() || res.Written || res.Token != 0) {
		c.violation("with the error %v, Result has more than Attempts and Waited", err)
	}
	if n := len(c.step.meddle); c.calls > 2+n && !c.disturbed() { // one call may begin with a value that is known from before
		c.violation("fn was called %d times, and the value changed %d times meanwhile", c.calls, n)
	}
	written, fields := c.writes(in, out)
	done := part{key: c.step.key, seen: in, fields: fields}
	if written {
		edit, kind, ttl := c.edit, c.key.Kind, c.key.TTL
		done.edit = func(cur rmw.Value) rmw.Value { return edit.apply(kind, cur) }
		done.ttl = func(next rmw.Value) time.Duration {
			if next.TTL() != 0 {
				return next.TTL()
			}
			return ttl
		}
	}
	switch {
	case of != nil:
		if err != of && !(c.faulty || c.cancelled || c.stores[c.store].ended.Load() || c.slept > 0) { //nolint:errorlint // the very error
			c.violation("fn returned %v (%T), Update %v (%T)", of, of, err, err)
		}
		if err == of { //nolint:errorlint // the very error
			return
		}
	case err == nil:
		c.acknowledged(res, written, fields, in, out)
		c.history.end(c.effect, done)
		return
	case errors.Is(err, rmw.ErrOutcomeUnknown):
		if written {
			c.unknown(c.effect, done)
		}
	case errors.Is(err, rmw.ErrWrongKind):
		c.history.end(c.effect, part{key: c.step.key, not: true, kind: c.key.Kind})
	}
	if of == nil || c.calls > 0 {
		c.judge(c.step, "Update", c.calls, err, c.cancelled || c.parent.Err() != nil, c.slept)
	}
}

// writes reports whether a result of fn is written, and the fields that it depends on, nil for all.
func (c *call) writes(in, out rmw.Value) (bool, []string) {
	given := driver.Traced(in)
	next := c.step.edit.apply(c.key.Kind, given)
	fields, ok := driver.Reads(given, next, nil)
	if !ok {
		fields = nil
	} else if fields == nil {
		fields = []string{}
	}
	return out.TTL() != 0 || !out.Equal(in), fields
}

// acknowledged judges an Update that returned no error.
func (c *call) acknowledged(res rmw.Result, written bool, fields []string, in, out rmw.Value) {
	switch {
	case c.wasClosed:
		c.violation("Update returned no error after Close")
	case c.step.cancel == cancelBefore:
		c.violation("Update returned no error, and its ctx had ended before")
	case written && c.step.cancel == cancelInFn && c.calls >= c.at:
		c.violation("Update returned no error, and its ctx ended in fn")
	case c.calls == 0:
		c.violation("Update returned no error without a call of fn")
	case fields == nil && !res.Before.Equal(in): // else, other fields may be newer
		c.violation("Result.Before is %s, fn was given %s", brief(res.Before), brief(in))
	case res.Written != written:
		c.violation("Result.Written is %v for %s, given %s", res.Written, brief(out), brief(in))
	case fields == nil && !res.After.Equal(out):
		c.violation("Result.After is %s, fn returned %s", brief(res.After), brief(out))
	}
	for _, f := range fields {
		a, inA := res.After.Field(f)
		if b, inB := out.Field(f); a != b || inA != inB {
			c.violation("field %q of Result.After is %q, fn returned %q", f, a, b)
		}
		a, inA = res.Before.Field(f)
		if b, inB := in.Field(f); a != b || inA != inB {
			c.violation("field %q of Result.Before is %q, fn was given %q", f, a, b)
		}
	}
}

// disturbed reports whether a fault, another call or time may have been in the way.
func (c *call) disturbed() bool {
	return c.faulty || time.Now().Before(c.trouble) || c.crowded || c.nth > 0 || c.slept > 0 || c.cancelled
}

// endFn ends fn, but not by a panic on a goroutine that nothing recovers.
func (c *call) endFn(end twin.Ending) error {
	if goroutine.ID() != c.goroutine {
		return errors.New("fn is on another goroutine")
	}
	return end.End()
}

// inFn runs in each call of fn. result computes the value that the call will return.
func (c *call) inFn(ctx context.Context, result func(rmw.Value) rmw.Value) {
	if g := goroutine.ID(); g != c.goroutine {
		c.violation("call %d of fn is on another goroutine than Update", c.calls)
	}
	if ctx.Value(ctxKey{}) != c.step {
		c.violation("ctx of call %d of fn lacks the values of the caller's", c.calls)
	}
	if c.step.cancel == cancelBefore {
		c.violation("fn was called with a ctx that had ended before")
	}
	if c.wasClosed {
		c.violation("fn was called after Close")
	}
	if c.calls <= len(c.step.meddle) {
		m := c.step.meddle[c.calls-1]
		key := c.step.key
		if c.step.kind == doTransact {
			key = m.key
		}
		c.run.meddle(m, key, result, c.fn())
	}
	if c.pass > 0 {
		c.fn().add("time.Sleep(%s)", goDuration(c.pass))
		c.slept += c.pass
		time.Sleep(c.pass)
	}
	if c.calls == c.at {
		c.once(ctx)
	}
}

// once runs in the call of fn that step.at names.
func (c *call) once(ctx context.Context) {
	if c.close {
		c.fn().add("go %s.(io.Closer).Close()\ntime.Sleep(time.Second)", c.storeName(c.store))
		c.stores[c.store].ended.Store(true)
		c.closing = append(c.closing, c.Go(func() { c.closeStore(c.store, nil) }))
		time.Sleep(time.Second)
		c.slept += time.Second
	}
	if c.rival != nil {
		c.compete()
	}
	switch c.nested {
	case 1:
		c.read(ctx, &step{kind: doRead, store: c.store, key: (c.step.key + 1) % 3}, c.fn())
	case 2:
		other := &step{kind: doUpdate, store: c.store, key: (c.step.key + 1) % 3, at: 1}
		other.edit = edit{name: "append", id: fmt.Sprintf("%sin%d", c.step.edit.id, c.calls)}
		c.update(ctx, other, c.fn())
	}
	if c.step.cancel == cancelInFn {
		c.fn().add("cancel()")
		c.cancelled = true
		c.cancel()
		if !c.Within(soon, ctx.Done()) {
			c.violation("the ctx of call %d of fn does not end with the caller's", c.calls)
		}
	}
}
