package locktest

import (
	"time"

	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/internal/suite"
	"github.com/unwatch/unwatch/internal/twin"
)

const (
	lockers = 3 // of a program
	names   = 3
)

// program is a sequence of acts.
type program struct {
	names  []string
	acts   []act
	ends   bool   // without last
	target Target // its promises and Faults limit the acts
}

type actKind uint8

const (
	doCall actKind = iota
	doPass
	doAsk    // for Token, Sequencer, Check and Inspect
	doCancel // the ctx of the call
	doTakeAway
	doStall
	doCut
	doLoseReply
	doLate
	doReconnect
	doExpire
	doRestart
	doForget
	doClose
)

// act is one act of the program, or of a critical section.
type act struct {
	kind   actKind
	locker int
	name   int
	pass   time.Duration // that passes, or that a fault takes
	call   *callPlan
}

type way uint8

const (
	byWithLock way = iota
	byTryLock
	byLock
)

// callPlan is one call of a Locker, or a crowd of them.
type callPlan struct {
	way    way
	locker int
	name   int
	async  bool // the program goes on meanwhile
	crowd  int  // callers at once
	spread bool // the callers use a Locker each, in turn
	apart  bool // the callers use a lock each

	detached bool          // of the ctx of an outer call
	limit    time.Duration // of ctx; 0: none, endedBefore: it has ended
	data     int           // bytes

	acts   []act // in the critical section
	ending int   // index in twin.Endings
	blind  bool  // fn does not look at its ctx at the end
	other  bool  // Unlock is called by another goroutine, and twice
}

const endedBefore = -1

// draws draws a program.
type draws struct {
	*suite.Draws

	target Target // limits the acts
	faults []actKind
}

func drawProgram(t *rapid.T, target Target) program {
	d := &draws{Draws: suite.NewDraws(t), target: target}
	if d.Once(2, "stormy") {
		d.faults = target.faultKinds()
	}
	pairs := twin.Names()
	pair := pairs[d.N(len(pairs), "names")]
	p := program{names: []string{pair[0], pair[1], "third"}, target: target}
	p.acts = suite.Some(d.Draws, "acts", 1, 10, d.act)
	return p
}

// faultKinds are the faults that the Target declares, the more important ones several times.
func (t Target) faultKinds() (kinds []actKind) {
	for _, f := range []struct {
		declared bool
		kinds    []actKind
	}{
		{t.Faults.TakeAway != nil, []actKind{doTakeAway, doTakeAway, doTakeAway}},
		{t.Faults.Stall != nil, []actKind{doStall, doStall, doStall}},
		{t.Faults.Cut != nil, []actKind{doCut, doCut}},
		{t.Faults.LoseReply != nil, []actKind{doLoseReply}},
		{t.Faults.Late != nil, []actKind{doLate}},
		{t.Faults.Reconnect != nil, []actKind{doReconnect}},
		{t.Faults.Expire != nil, []actKind{doExpire}},
		{t.Faults.Restart != nil, []actKind{doRestart}},
		{t.Faults.Forget != nil && t.Tokens, []actKind{doForget}},
	} {
		if f.declared && t.Lease > 0 {
			kinds = append(kinds, f.kinds...)
		}
	}
	return kinds
}

// one returns one of the choices.
func one[T any](d *draws, label string, choices ...T) T { return choices[d.N(len(choices), label)] }

// usual is one with habits.
func usual[T any](d *draws, label string, choices ...T) T {
	return choices[d.Habit(len(choices), label)]
}

func (d *draws) locker() int { return d.N(lockers, "locker") }

func (d *draws) name() int { return one(d, "name", 0, 0, 0, 1, 1, 2) }

// act draws an act of the program.
func (d *draws) act() act {
	kind := one(d, "do", doCall, doCall, doCall, doCall, doCall, doCall, doPass, doPass, doTakeAway, doTakeAway, doAsk, doClose)
	switch {
	case kind == doCall:
		return act{kind: doCall, call: d.call(0)}
	case kind == doClose && d.Once(3, "close"):
		return act{kind: doClose, locker: d.locker()}
	case kind == doClose, kind == doPass:
		return act{kind: doPass, pass: one(d, "pass",
			time.Millisecond, 50*time.Millisecond, time.Second, 5*time.Second, 40*time.Second, 3*time.Minute, 2*time.Hour, 30*time.Hour)}
	case kind == doTakeAway:
		return d.fault()
	}
	return act{kind: kind, locker: d.locker(), name: d.name()}
}

// within draws an act of the critical section of c.
func (d *draws) within(depth int, c *callPlan) act {
	kind := usual(d, "do within", doPass, doPass, doPass, doAsk, doAsk, doTakeAway, doTakeAway, doCall, doCancel)
	switch {
	case kind == doCall && depth < 2:
		return act{kind: doCall, call: d.call(depth + 1)}
	case kind == doCall, kind == doPass:
		return act{kind: doPass, pass: d.hold()}
	case kind == doTakeAway:
		a := d.fault()
		if d.Once(2, "own") {
			a.locker, a.name = c.locker, c.name
		}
		return a
	}
	return act{kind: kind, locker: d.locker(), name: d.name()}
}

// hold draws the time that a lock is held.
func (d *draws) hold() time.Duration {
	hold := usual(d, "hold", time.Millisecond, 50*time.Millisecond, time.Second, 6*time.Second, 27*time.Second,
		45*time.Second, time.Second, 3*time.Minute, 61*time.Minute)
	if hold > time.Hour && d.target.Requests == nil && !d.Once(4, "an hour") {
		return time.Minute // others poll all the time
	}
	return hold
}

// fault draws a fault, or none if it is not declared.
func (d *draws) fault() act {
	if len(d.faults) == 0 {
		return act{kind: doPass, pass: time.Millisecond}
	}
	lease := d.target.Lease
	return act{
		kind: d.faults[d.Habit(len(d.faults), "fault")], locker: d.locker(), name: d.name(),
		pass: one(d, "for", lease, lease/2, 50*time.Millisecond, 2*lease+lease/2),
	}
}

func (d *draws) call(depth int) *callPlan {
	c := &callPlan{
		way: usual(d, "way", byWithLock, byTryLock, byLock), locker: d.locker(), name: d.name(), crowd: 1,
		limit: usual(d, "limit", 0, 0, 0, 0, 50*time.Millisecond, 2*time.Second, 38*time.Second, endedBefore),
		blind: d.Once(4, "blind"),
	}
	if d.target.Data {
		c.data = usual(d, "data", 0, 1, 1000)
	}
	if c.way != byLock && d.Once(3, "ends") {
		c.ending = 1 + d.Habit(len(twin.Endings())-1, "ending")
	}
	c.other = c.way == byLock && d.Once(3, "by another")
	if depth == 0 {
		c.async = d.Once(2, "async")
		if d.Once(6, "crowd") {
			c.crowd, c.limit = one(d, "callers", 2, 5, 24, 48), 0
			c.spread, c.apart = d.Once(2, "spread"), d.Once(3, "apart")
			if hold := one(d, "hold", 0, time.Millisecond, 50*time.Millisecond, time.Second); hold > 0 {
				c.acts = []act{{kind: doPass, pass: hold}}
			}
			return c
		}
	} else if c.detached = d.Once(3, "detached"); c.limit == 0 {
		c.limit = 2 * time.Second // or two nested calls wait for each other
	}
	c.acts = suite.Some(d.Draws, "acts within", 0, 5, func() act { return d.within(depth, c) })
	return c
}
