package rmwtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/suite"
	"github.com/unwatch/unwatch/internal/twin"
	"github.com/unwatch/unwatch/rmw"
)

const (
	// callLimit ends the ctx of a call. Only a call with a fault that hangs may take so long.
	callLimit = 10 * time.Minute
	// recovery is the time after a fault in which a Store may say that it is not available.
	recovery = 30 * time.Second
)

// run is one run of a program.
type run struct {
	*check
	program
	*history
	stores  []rmw.Store
	closed  []bool
	ended   []bool       // Close was called
	foreign map[int]bool // keys that have had another kind
	faulty  bool         // of the present step has struck, or may
	hung    bool
	trouble time.Time // until then, the last fault may be felt
	crowded bool
	silent  bool
	noTx    bool
	index   int

	printing sync.Mutex
	lines    []string
}

// runProgram runs a program and returns the violations, and the program as Go.
func runProgram(target Target, p program) (lines []string, err error) {
	var r *run
	err = suite.Run(context.Background(), 365*24*time.Hour, func(ck *suite.Check) {
		c := &check{Target: target, Check: ck, clause: "programs"}
		r = &run{check: c, program: p, history: newHistory(target.ExpiryUnit), foreign: map[int]bool{}}
		for range 2 {
			r.open()
		}
		for i := range p.steps {
			r.index = i
			r.step(&p.steps[i])
			if ck.Violations() > 0 {
				break
			}
		}
		if ck.Violations() == 0 {
			r.last()
		}
		for i := range r.stores {
			r.closeStore(i, true)
		}
		if ck.Violations() == 0 {
			if violation := r.history.check(); violation != "" {
				r.Errorf("%s", violation)
			}
		}
	})
	if r == nil {
		return nil, err
	}
	return r.lines, err
}

func (r *run) open() {
	r.stores, r.closed, r.ended = append(r.stores, r.check.Open()), append(r.closed, false), append(r.ended, false)
}

// say adds a line to the program as Go.
func (r *run) say(format string, args ...any) {
	r.printing.Lock()
	defer r.printing.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *run) storeName(i int) string { return string(rune('a' + i)) }

func (r *run) rkey(i int, ttl time.Duration) rmw.Key {
	return rmw.Key{Name: r.names[i], Kind: r.keyKinds[i], TTL: ttl, Label: "rmwtest"}
}

// step runs one step, and looks at the storage after it.
func (r *run) step(s *step) {
	stop := func() bool { return false }
	r.faulty, r.hung = false, false
	if s.nth > 0 {
		r.faulty, r.hung = s.fault.Kind != NoFault, s.fault.Kind == Hang
		fault := s.fault
		if fault.Kind == NoFault && s.cancel != cancelAtCommand {
			fault.Do = func() { r.meddle(s.meet, s.key, nil) }
			r.say("stop = faults.Arm(%d, rmwtest.Fault{Do: func() { /* the next write of direct */ }})", s.nth)
		} else if fault.Kind != NoFault {
			r.say("stop = faults.Arm(%d, rmwtest.Fault{Kind: rmwtest.%s})", s.nth, faultName(fault.Kind))
		}
		if s.cancel != cancelAtCommand {
			stop = r.Faults.Arm(s.nth, fault)
		}
	}
	r.within(s, func() { r.do(s) })
	if !r.faulty {
		stop() // a write beside the Stores, by several commands, is over then
	}
	if s.kind == doTransact && !r.noTx {
		r.Pass(soon) // behind its answer, its keys may need a moment
	}
	if s.kind == doUpdate || s.kind == doTransact || s.kind == doSet || s.kind == doPass {
		for i := range r.names[:3] {
			r.look(i)
		}
	}
	stop()
	if r.faulty {
		r.trouble = time.Now().Add(recovery)
	}
	r.faulty, r.hung = false, false
}

// within runs do on a goroutine of its own, and requires it to return.
func (r *run) within(s *step, do func()) {
	done := r.Go(do)
	limit := callLimit + s.pass*50 + time.Minute
	if s.kind == doPass {
		limit = 100 * 24 * time.Hour
	}
	if !r.Within(limit, done) {
		r.Fatalf("step %d: the call has not returned %v after it began; its ctx ended after %v", r.index, limit, callLimit)
	}
}

func (r *run) do(s *step) {
	switch s.kind {
	case doUpdate:
		r.update(s)
	case doRead, doPeek:
		r.read(s)
	case doSet:
		r.write(s.key, s.edit.content(r.keyKinds[s.key], rmw.Value{}), s.edit.ttl)
	case doPass:
		r.passStep(s)
	case doTransact:
		r.transact(s)
	case doCrowd:
		r.crowd(s)
	case doClose:
		r.closeStore(s.store, false)
		r.closeStore(s.store, false)
	}
}

// passStep lets time pass.
func (r *run) passStep(s *step) {
	d := s.pass
	if s.toEnd {
		_, left, err := r.Direct.Get(r.Ctx, r.names[s.key])
		if err != nil || left <= 0 || left > 2*time.Hour {
			return
		}
		d += left
		r.eachReads(s.key)
		defer r.eachReads(s.key)
	}
	if d > 0 {
		r.say("time.Sleep(%s)", goDuration(d))
		time.Sleep(d)
	}
}

// eachReads has each Store read a key.
func (r *run) eachReads(key int) {
	for i := range r.stores {
		r.read(&step{kind: doRead, store: i, key: key})
	}
}

// look reads the storage beside the Stores.
func (r *run) look(key int) {
	e := r.begin(fmt.Sprintf("the storage, after step %d", r.index))
	v, left := r.storedUnder(key)
	if !v.Exists() {
		left = 0
	}
	if v.Exists() && v.Kind() != r.keyKinds[key] {
		r.foreign[key] = true
	}
	r.history.end(e, part{key: key, seen: v, left: left})
}

func (r *run) storedUnder(key int) (rmw.Value, time.Duration) {
	return r.check.stored(rmw.Key{Name: r.names[key]})
}

// write writes beside the Stores.
func (r *run) write(key int, v rmw.Value, ttl time.Duration) {
	r.writeOver(key, v, ttl, part{key: key, blind: true})
}

// writeOver writes beside the Stores what depends on a value that was seen.
func (r *run) writeOver(key int, v rmw.Value, ttl time.Duration, p part) {
	if v.Exists() && v.Kind() != r.keyKinds[key] {
		r.foreign[key] = true
	}
	if ttl == 0 {
		ttl = rmw.NoTTL
	}
	r.say("_ = direct.Set(ctx, %s, %s, %s)", goText(r.names[key]), goValue(v), goDuration(ttl))
	e := r.begin(fmt.Sprintf("direct.Set in step %d", r.index))
	if err := r.Direct.Set(r.Ctx, r.names[key], v.WithTTL(0), ttl); err != nil {
		r.Errorf("direct.Set: %v", err)
	}
	p.edit = func(rmw.Value) rmw.Value { return v.WithTTL(0) }
	p.ttl = func(rmw.Value) time.Duration { return ttl }
	r.history.end(e, p)
}

// meddle writes a value beside the Stores that a guard may fail to notice. result computes the value that fn will return.
func (r *run) meddle(m meddling, key int, result func(rmw.Value) rmw.Value) {
	kind := r.keyKinds[key]
	now, left, err := r.Direct.Get(r.Ctx, r.names[key])
	if err != nil { // a Transact has the key
		now, left = rmw.Value{}, rmw.NoTTL
	}
	if m.ttl != 0 {
		left = m.ttl
	}
	next := now
	switch m.kind {
	case meddleTwin:
		if now.Exists() && now.Kind() != kind {
			return
		}
		all := twin.Of(now, kind)
		next = all[m.pick%len(all)]
	case meddleResult:
		if result == nil {
			return
		}
		next = result(now)
	case meddleAppend:
		if now.Exists() && now.Kind() != kind {
			return
		}
		next = edit{name: "append", id: fmt.Sprintf("<m%d>", m.pick)}.apply(kind, now)
	case meddleDelete:
		next = rmw.Value{}
	case meddleKind2:
		if r.Kinds != nil {
			return
		}
		next = rmw.String("other")
		if kind == rmw.KindString {
			next = rmw.Hash(map[string]string{"other": "kind"})
		}
	}
	if err != nil {
		r.write(key, next.WithTTL(0), left)
		return
	}
	r.writeOver(key, next.WithTTL(0), left, part{key: key, seen: now})
}

// closeStore closes a Store, if it can be closed.
func (r *run) closeStore(i int, quiet bool) {
	c, ok := rmw.As[io.Closer](r.stores[i])
	if !ok {
		return
	}
	r.ended[i] = true
	if !quiet {
		r.say("_ = %s.(io.Closer).Close()", r.storeName(i))
	}
	if err := c.Close(); err != nil {
		r.Errorf("Close: %v", err)
	}
	r.closed[i] = true
}

// last requires that everything works again, with the same Stores and a new one.
func (r *run) last() {
	r.say("time.Sleep(time.Minute)\n// And now each Store reads and updates each key.")
	r.silent = true
	time.Sleep(time.Minute)
	r.trouble = time.Time{}
	r.open()
	for i := range r.stores {
		for k := range r.names[:3] {
			s := &step{kind: doRead, store: i, key: k}
			r.within(s, func() { r.read(s) })
			s = &step{kind: doUpdate, store: i, key: k, at: 1, edit: edit{name: "append", id: fmt.Sprintf("<end%d>", i)}}
			r.within(s, func() { r.update(s) })
			r.look(k)
		}
	}
}

// judge requires an error to be one that the call may return.
func (r *run) judge(s *step, op string, calls int, err error, cancelled bool, slept time.Duration) {
	var of *rmw.Error
	switch {
	case err == nil:
		return
	case !errors.As(err, &of):
		r.Errorf("step %d: %s: %v (%T), want an *rmw.Error", r.index, op, err, err)
		return
	}
	is := func(reasons ...error) bool {
		for _, reason := range reasons {
			if errors.Is(err, reason) {
				return true
			}
		}
		return false
	}
	fault := r.faulty || time.Now().Before(r.trouble)
	known := false
	for _, reason := range reasons() {
		known = known || is(reason)
	}
	ended := is(context.Canceled) && cancelled || is(context.DeadlineExceeded) && r.hung
	switch {
	case !known && !is(context.Canceled, context.DeadlineExceeded):
	case is(rmw.ErrOutcomeUnknown) && calls == 0:
		r.Errorf("step %d: %s: %v, but fn was not called", r.index, op, err)
		return
	case is(rmw.ErrOutcomeUnknown) && (r.faulty || cancelled || r.ended[s.store]), ended,
		is(rmw.ErrClosed) && r.ended[s.store],
		is(rmw.ErrWrongKind) && r.foreign[s.key] && s.kind != doTransact,
		is(rmw.ErrWrongKind) && len(r.foreign) > 0 && s.kind == doTransact,
		is(rmw.ErrUnavailable) && fault,
		is(rmw.ErrLockLost) && (fault || slept > 0 || cancelled),
		is(rmw.ErrContended) && (fault || r.crowded):
		return
	}
	r.Errorf("step %d: %s: %v; it has no reason for that", r.index, op, err)
}

// hides requires an error to hide values.
func (r *run) hides(err error, values ...rmw.Value) {
	if err == nil {
		return
	}
	text := err.Error()
	for _, v := range values {
		texts := []string{v.Text()}
		for _, f := range v.All() {
			texts = append(texts, f)
		}
		for _, s := range texts {
			if len(s) >= 5 && strings.Contains(text, s) {
				r.Errorf("step %d: the error shows a value: %v", r.index, err)
				return
			}
		}
	}
}

func faultName(k FaultKind) string {
	return [...]string{"NoFault", "RequestLost", "ReplyLost", "Hang", "Late"}[k]
}
