package rmwtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
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
	// sealedFor is the time that a Transact may hide a key from readers that know nothing of it.
	sealedFor = time.Minute
)

// run is one run of a program.
type run struct {
	*check
	program
	*history
	stores  []*opened
	closing []<-chan struct{} // closed when a Close that began in fn has returned
	foreign [3]atomic.Bool    // keys that have had another kind
	faulty  bool              // of the present step has struck, or may
	hung    bool
	trouble time.Time // until then, the last fault may be felt
	crowded bool
	alone   bool // the one call that runs is an Update
	guarded bool // a key that a Transact has taken is not written beside the Stores
	noTx    bool
	index   int

	writing chan struct{} // full while a goroutine writes beside the Stores
	code    *code         // nil: the step is not written
}

// opened is a Store of a run.
type opened struct {
	rmw.Store
	ended, closed atomic.Bool // Close was called, and has returned
	gaveUp        atomic.Bool // Close has returned an error because of a fault
}

// runProgram runs a program, writes it as Go, and returns the violations.
func runProgram(target Target, p program, out *code) error {
	return suite.Run(context.Background(), 365*24*time.Hour, func(ck *suite.Check) {
		c := &check{Target: target, Check: ck, clause: "programs"}
		r := &run{
			check: c, program: p, history: newHistory(target.ExpiryUnit), code: out,
			writing: make(chan struct{}, 1),
		}
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
		if ck.Violations() == 0 && !p.ends {
			r.last()
		}
		for i := range r.stores {
			r.closeStore(i, nil)
		}
		if ck.Violations() == 0 {
			if violation := r.history.check(); violation != "" {
				r.Errorf("%s", violation)
			}
		}
	})
}

func (r *run) open() {
	r.stores = append(r.stores, &opened{Store: r.check.Open()})
}

func (r *run) storeName(i int) string { return string(rune('a' + i)) }

func (r *run) rkey(i int, ttl time.Duration) rmw.Key {
	return rmw.Key{Name: r.names[i], Kind: r.keyKinds[i], TTL: ttl, Label: "rmwtest"}
}

// step runs one step, and looks at the storage after it.
func (r *run) step(s *step) {
	stop := func() bool { return false }
	r.faulty, r.hung = false, false
	r.alone = s.kind == doUpdate
	r.crowded = s.rival != nil
	defer func() { r.crowded = false }()
	// Of a SET to a key that a Transact has taken, the order is the Transact before it. Two of them may contradict each other.
	r.guarded = s.kind == doTransact && (s.nth > 0 || len(s.meddle) > 1 || s.rival != nil)
	if s.first.name != "" {
		r.write(s.key, s.first.content(r.keyKinds[s.key], rmw.Value{}), 0)
	}
	whole, direct, struck := r.code, new(code), false
	r.code = new(code)
	if fault := s.fault; s.nth > 0 && s.cancel != cancelAtCommand {
		r.faulty, r.hung = fault.Kind != NoFault, fault.Kind == Hang
		if fault.Kind == NoFault {
			fault.Do = func() { r.meddle(s.meet, s.key, nil, direct) }
		}
		stop = r.Faults.Arm(s.nth, fault)
	}
	r.within(s, func() { r.do(s) })
	for _, done := range r.closing {
		if !r.Within(callLimit, done) {
			r.Fatalf("step %d: Close has not returned %v after fn did", r.index, callLimit)
		}
	}
	r.closing = nil
	if !r.faulty {
		struck = stop() // a write beside the Stores, by several commands, is over then
	}
	if s.kind == doTransact && !r.noTx {
		r.code.add("time.Sleep(%s)", goDuration(soon))
		r.Pass(soon) // behind its answer, its keys may need a moment
	}
	if r.faulty || struck {
		whole.add("{\nstop := faults.Arm(%d, rmwtest.Fault{%s})", s.nth, goFault(s.fault, direct))
		r.code.add("stop()\n}")
	}
	whole.take(r.code.all())
	r.code = whole
	if s.kind == doUpdate || s.kind == doTransact || s.kind == doSet || s.kind == doPass {
		for i := range r.names[:3] {
			r.look(i)
		}
	}
	if r.faulty {
		stop()
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
		r.update(r.Ctx, s, r.code)
	case doRead, doPeek:
		r.read(r.Ctx, s, r.code)
	case doSet:
		r.write(s.key, s.edit.content(r.keyKinds[s.key], rmw.Value{}), s.edit.ttl)
	case doPass:
		r.passStep(s)
	case doTransact:
		r.transact(s, r.code)
	case doCrowd:
		r.crowd(s)
	case doClose:
		r.closeStore(s.store, r.code)
		r.closeStore(s.store, r.code)
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
		r.code.add("time.Sleep(%s)", goDuration(d))
		time.Sleep(d)
	}
}

// eachReads has each Store read a key and peek at it.
func (r *run) eachReads(key int) {
	for i := range r.stores {
		for _, kind := range []stepKind{doRead, doPeek} {
			r.read(r.Ctx, &step{kind: kind, store: i, key: key}, r.code)
		}
	}
}

// look reads the storage beside the Stores. Behind a Transact, a key may need a moment; after a fault, until a late command
// of the Transact is undone.
func (r *run) look(key int) {
	for end := time.Now().Add(sealedFor); ; r.Pass(time.Second) {
		e := r.begin(fmt.Sprintf("the storage, after step %d", r.index))
		v, left, err := r.Direct.Get(r.Ctx, r.names[key])
		if err == nil {
			r.seen(e, key, v, left)
			return
		}
		// The next writer opens what late commands of a closed Store seal.
		if slices.ContainsFunc(r.stores, func(s *opened) bool { return s.ended.Load() }) {
			_, _ = r.check.Open().Update(r.Ctx, r.rkey(key, 0), same)
		}
		if !time.Now().Before(end) {
			r.Fatalf("look at key %d in the storage: %v", key, err)
		}
	}
}

func same(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur, nil }

func (r *run) seen(e *effect, key int, v rmw.Value, left time.Duration) {
	if !v.Exists() {
		left = 0
	}
	r.kind(key, v)
	r.history.end(e, part{key: key, seen: v, left: left})
}

// write writes beside the Stores.
func (r *run) write(key int, v rmw.Value, ttl time.Duration) {
	r.writing <- struct{}{}
	defer func() { <-r.writing }()
	r.writeOver(key, v, ttl, part{key: key, blind: true}, r.code)
}

// writeOver writes beside the Stores what depends on a value that was seen.
func (r *run) writeOver(key int, v rmw.Value, ttl time.Duration, p part, out *code) {
	r.kind(key, v)
	if ttl == 0 {
		ttl = rmw.NoTTL
	}
	out.add("_ = direct.Set(ctx, %s, %s, %s)", suite.GoText(r.names[key]), goValue(v), goDuration(ttl))
	p.ttl = func(rmw.Value) time.Duration { return ttl }
	for range 20 {
		var gone *effect
		if v.Kind() != rmw.KindString {
			gone = r.begin(fmt.Sprintf("DEL of direct.Set in step %d", r.index))
		}
		e := r.begin(fmt.Sprintf("direct.Set in step %d", r.index))
		err := r.Direct.Set(r.Ctx, r.names[key], v.WithTTL(0), ttl)
		if err == nil {
			if gone != nil { // a call may meet the key between its commands
				p.edit = deleted
				r.history.end(gone, p)
				p = part{key: key, blind: true, ttl: p.ttl}
			}
			p.edit = func(rmw.Value) rmw.Value { return v.WithTTL(0) }
			r.history.end(e, p)
			return
		}
		// A Transact has taken the key between the commands of a Set that first deletes.
		p.edit = deleted
		r.history.unknown(e, p)
		p = part{key: key, blind: true, ttl: p.ttl}
	}
	r.Errorf("step %d: direct.Set was refused 20 times", r.index)
}

func deleted(rmw.Value) rmw.Value { return rmw.Value{} }

// meddle writes a value beside the Stores that a guard may fail to notice. result computes the value that fn will return.
func (r *run) meddle(m meddling, key int, result func(rmw.Value) rmw.Value, out *code) {
	r.writing <- struct{}{}
	defer func() { <-r.writing }()
	if r.faulty && r.EqualWrites { // it may equal that of the Update
		return
	}
	if r.guarded {
		r.add(key, fmt.Sprintf("<m%d>", m.pick), out)
		return
	}
	kind := r.keyKinds[key]
	e := r.begin(fmt.Sprintf("direct.Get in step %d", r.index))
	now, left, err := r.Direct.Get(r.Ctx, r.names[key])
	if err != nil { // a Transact has the key
		now, left = rmw.Value{}, rmw.NoTTL
	} else {
		r.history.end(e, part{key: key, seen: now})
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
	over := part{key: key, blind: true}
	if err == nil && r.alone {
		over = part{key: key, seen: now}
	}
	r.writeOver(key, next.WithTTL(0), left, over, out)
}

// add changes a value beside the Stores by one command, which a key that a Transact has refuses.
func (r *run) add(key int, id string, out *code) {
	kind := r.keyKinds[key]
	e := r.begin(fmt.Sprintf("direct.Append in step %d", r.index))
	if r.Direct.Append(r.Ctx, r.rkey(key, 0), id) != nil {
		return
	}
	out.add("_ = direct.Append(ctx, %s, %q)", goKey(r.rkey(key, 0)), id)
	r.history.end(e, part{
		key: key, blind: true, ttl: func(rmw.Value) time.Duration { return 0 },
		edit: func(cur rmw.Value) rmw.Value {
			if kind == rmw.KindHash {
				return cur.With(id, "x")
			}
			return rmw.String(cur.Text() + id + ",")
		},
	})
}

// closeStore closes a Store, if it can be closed.
func (r *run) closeStore(i int, out *code) {
	s := r.stores[i]
	c, ok := rmw.As[io.Closer](s.Store)
	if !ok {
		return
	}
	s.ended.Store(true)
	out.add("_ = %s.(io.Closer).Close()", r.storeName(i))
	err := c.Close()
	if err != nil && (r.faulty || time.Now().Before(r.trouble)) {
		s.gaveUp.Store(true)
	}
	if err != nil && !s.gaveUp.Load() {
		r.Errorf("Close: %v", err)
	}
	s.closed.Store(true)
}

// last requires that everything works again, with the same Stores and a new one.
func (r *run) last() {
	r.writeLast()
	time.Sleep(time.Minute)
	r.trouble = time.Time{}
	r.open()
	for i := range r.stores {
		for k := range r.names[:3] {
			s := &step{kind: doRead, store: i, key: k}
			r.within(s, func() { r.read(r.Ctx, s, nil) })
			s = &step{kind: doUpdate, store: i, key: k, at: 1, edit: edit{name: "append", id: fmt.Sprintf("<end%d>", i)}}
			r.within(s, func() { r.update(r.Ctx, s, nil) })
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
	for _, reason := range twin.Reasons() {
		known = known || is(reason)
	}
	ended := is(context.Canceled) && cancelled || is(context.DeadlineExceeded) && r.hung
	switch {
	case !known && !is(context.Canceled, context.DeadlineExceeded):
	case is(rmw.ErrOutcomeUnknown) && calls == 0:
		r.Errorf("step %d: %s: %v, but fn was not called", r.index, op, err)
		return
	case is(rmw.ErrOutcomeUnknown) && s.kind == doTransact && !cancelled && !r.hung && s.fault.Kind != Late && r.calm(s):
		r.Errorf("step %d: %s: %v, and the store could be asked again", r.index, op, err)
		return
	case is(rmw.ErrOutcomeUnknown) && (r.faulty || cancelled || r.stores[s.store].ended.Load()), ended,
		is(rmw.ErrClosed) && r.stores[s.store].ended.Load(),
		is(rmw.ErrWrongKind) && r.foreign[s.key].Load() && s.kind != doTransact,
		is(rmw.ErrWrongKind) && r.anyForeign() && s.kind == doTransact,
		is(rmw.ErrUnavailable) && fault,
		is(rmw.ErrLockLost) && (fault || slept > 0 || cancelled),
		is(rmw.ErrContended) && (fault || r.crowded):
		return
	}
	r.Errorf("step %d: %s: %v; it has no reason for that", r.index, op, err)
}

// kind notes the kind of a value in the storage.
func (r *run) kind(key int, v rmw.Value) {
	if v.Exists() && v.Kind() != r.keyKinds[key] {
		r.foreign[key].Store(true)
	}
}

// calm reports whether nothing but the fault of the present step disturbs a call.
func (r *run) calm(s *step) bool {
	return !time.Now().Before(r.trouble) && !r.stores[s.store].ended.Load() && !r.crowded
}
