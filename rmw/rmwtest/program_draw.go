package rmwtest

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/internal/suite"
	"github.com/unwatch/unwatch/internal/twin"
	"github.com/unwatch/unwatch/rmw"
)

// program is a sequence of steps of two Stores over some keys.
type program struct {
	names    []string
	keyKinds []rmw.Kind
	steps    []step
	ends     bool // behind the steps; if not, each Store then reads and updates each key
}

// stepKind is the kind of a step.
type stepKind uint8

const (
	doUpdate stepKind = iota
	doRead
	doPeek
	doSet // beside the Stores
	doPass
	doTransact
	doCrowd
	doClose
)

// step is one step.
type step struct {
	kind  stepKind
	store int
	key   int
	ttl   time.Duration // Key.TTL
	edit  edit
	edits []edit // of a Transact, one per key
	rival *step  // a Transact of the other Store, while fn of this one runs
	skip  int    // only the first call of fn uses the key before this one

	first  edit       // beside the Store, before the Update; if it has a name
	meddle []meddling // at the calls of fn, in order
	fault  Fault
	nth    int      // command that has the fault; 0: none
	meet   meddling // at the n-th command, if fault.Kind is NoFault

	pass   time.Duration // fn takes so long
	toEnd  bool          // pass until the expiry of the key, and pass on from there
	at     int           // the call of fn at which end, cancel or close happens
	ending int           // index in endings
	cancel cancelling
	close  bool // the Store is closed while fn runs
	nested int  // 1: fn reads another key, 2: fn updates it

	crowd  int // callers at once
	spread int // keys of a crowd
}

type cancelling uint8

const (
	notCancelled cancelling = iota
	cancelBefore
	cancelInFn
	cancelAtCommand // instead of meet
)

// meddling is a write beside the Stores.
type meddling struct {
	kind meddleKind
	pick int
	ttl  time.Duration
	key  int // of a Transact: which of its keys
}

type meddleKind uint8

const (
	meddleNot    meddleKind = iota
	meddleTwin              // a value that looks like the present one
	meddleResult            // the result of fn
	meddleAppend
	meddleDelete
	meddleKind2 // another kind
	meddleSame  // the present value again
)

// edit computes the result of fn.
type edit struct {
	name string
	pick int
	ttl  time.Duration // of the Value
	id   string
}

// stringEdits and hashEdits are the names of edits.
func stringEdits() []string {
	return []string{"append", "set", "delete", "same", "increment", "twin", "restart"}
}

func hashEdits() []string {
	return []string{"append", "set", "delete", "same", "field", "without", "move", "len", "twin", "restart"}
}

// of returns the edit, or one for a key of this kind: a shorter program may have keys of other kinds.
func (e edit) of(kind rmw.Kind) edit {
	names := stringEdits()
	if kind == rmw.KindHash {
		names = hashEdits()
	}
	if !slices.Contains(names, e.name) {
		e.name = "append"
	}
	return e
}

// apply computes the next value. It is a function of cur only.
func (e edit) apply(kind rmw.Kind, cur rmw.Value) rmw.Value {
	next := e.content(kind, cur)
	if e.ttl != 0 {
		next = next.WithTTL(e.ttl)
	}
	return next
}

func (e edit) content(kind rmw.Kind, cur rmw.Value) rmw.Value {
	switch e.of(kind).name {
	case "set":
		all, _ := twin.Values(kind)
		return all[e.pick%len(all)]
	case "delete":
		return rmw.Value{}
	case "same", "restart":
		return cur
	case "twin":
		all := twin.Of(cur.WithTrace(nil), kind)
		return all[e.pick%len(all)]
	case "increment":
		n, _ := strconv.ParseInt(cur.Text(), 10, 64)
		return rmw.String(strconv.FormatInt(n+1, 10))
	case "field":
		return cur.With("f", "two")
	case "without":
		return cur.Without("f")
	case "move":
		if _, ok := cur.Field("f"); ok {
			return cur.Without("f").With("g", "moved")
		}
		return cur.Without("g").With("f", "moved")
	case "len":
		return cur.With(e.id, strconv.Itoa(cur.Len()))
	}
	if kind == rmw.KindHash {
		return cur.With(e.id, "x")
	}
	return rmw.String(cur.Text() + e.id)
}

// code is the edit as a Go expression of cur.
func (e edit) code(kind rmw.Kind, last rmw.Value) string {
	s := "cur"
	switch e.of(kind).name {
	case "set", "twin":
		s = goValue(last.WithTTL(0))
	case "delete":
		return "rmw.Value{}"
	case "same", "restart":
	case "increment":
		s = "increment(cur)"
	case "field":
		s = `cur.With("f", "two")`
	case "without":
		s = `cur.Without("f")`
	case "move":
		s = "moveField(cur)"
	case "len":
		s = fmt.Sprintf("cur.With(%q, strconv.Itoa(cur.Len()))", e.id)
	default:
		s = fmt.Sprintf("rmw.String(cur.Text()+%q)", e.id)
		if kind == rmw.KindHash {
			s = fmt.Sprintf(`cur.With(%q, "x")`, e.id)
		}
	}
	if e.ttl != 0 {
		s += ".WithTTL(" + goDuration(e.ttl) + ")"
	}
	return s
}

// draws draws a program.
type draws struct {
	*suite.Draws

	target Target // its Kinds and Faults limit the steps
	stormy bool
	keys   int
	kinds  []rmw.Kind
	ids    int
}

func drawProgram(t *rapid.T, target Target) program {
	d := &draws{Draws: suite.NewDraws(t), target: target}
	pairs := twin.Names()
	pair := pairs[d.N(len(pairs), "names")]
	p := program{names: []string{pair[0], pair[1], "third"}}
	kinds := (&check{Target: target}).kinds()
	for range p.names {
		p.keyKinds = append(p.keyKinds, kinds[d.N(len(kinds), "kind")])
	}
	if target.OneSlot {
		for i, name := range p.names {
			p.names[i] = "{t}" + name
		}
	}
	d.keys, d.kinds = len(p.names), p.keyKinds
	d.stormy = d.Once(4, "stormy")
	for range 1 + d.N(10, "steps") {
		p.steps = append(p.steps, d.step())
	}
	return p
}

func (d *draws) step() step {
	s := step{
		kind: []stepKind{doUpdate, doUpdate, doUpdate, doUpdate, doUpdate,
			doSet, doSet, doRead, doPeek, doPass, doTransact, doTransact, doCrowd, doClose}[d.N(14, "do")],
		store: d.N(2, "store"),
		key:   []int{0, 0, 0, 1, 1, 2}[d.N(6, "key")],
	}
	switch s.kind {
	case doSet:
		s.edit = edit{name: "set", pick: d.value(s.key), ttl: d.ttl()}
	case doPass:
		s.pass = []time.Duration{time.Millisecond, 400 * time.Millisecond, 2 * time.Second, time.Minute, time.Hour}[d.N(5, "pass")]
		if s.toEnd = d.Once(2, "to end"); s.toEnd {
			s.pass = []time.Duration{0, -time.Millisecond, time.Millisecond, 300 * time.Millisecond}[d.N(4, "pass on")]
		}
	case doCrowd:
		s.crowd = []int{2, 3, 8, 2, 24, 64}[d.N(6, "crowd")]
		s.spread = []int{1, 1, 2, s.crowd}[d.N(4, "spread")]
	case doUpdate, doTransact:
		d.update(&s)
	case doRead, doPeek:
		if d.Once(8, "cancel") {
			s.cancel = cancelBefore
		}
	}
	if d.target.Faults != nil && s.kind != doSet && s.kind != doPass && (d.stormy || d.Once(3, "fault")) {
		s.nth = 1 + d.Habit([]int{3, 3, 4, 12}[d.Habit(4, "within")], "nth")
		s.fault.Kind = []FaultKind{RequestLost, ReplyLost, ReplyLost, NoFault, Late, Hang}[d.Habit(6, "fault kind")]
		s.fault.Delay = lateDelay
		if s.fault.Kind == NoFault {
			s.meet = d.meddling()
		}
	}
	return s
}

func (d *draws) update(s *step) {
	s.ttl = d.ttl()
	s.edit = d.edit(s.key)
	if s.kind == doTransact {
		s.edits = d.edits()
		s.skip = d.N(d.keys+1, "skip")
		if d.Once(4, "rival") {
			s.rival = &step{kind: doTransact, store: 1 - s.store, at: 1, edit: d.edit(s.key), edits: d.edits()}
		}
	}
	if d.Once(2, "meddle") {
		n := []int{1, 1, 1, 2, 3, 13, 40}[d.Habit(7, "times")]
		m := d.meddling()
		if s.kind == doUpdate && m.kind == meddleTwin && d.Once(2, "first") {
			s.first = edit{name: "set", pick: d.value(s.key)}
		}
		for i := range n {
			m.pick += i
			s.meddle = append(s.meddle, m)
		}
	}
	if s.kind == doUpdate && len(s.meddle) == 0 && d.Once(3, "first") {
		s.first = edit{name: "set", pick: d.value(s.key)}
	}
	if d.Once(5, "slow") {
		s.pass = []time.Duration{300 * time.Millisecond, time.Second, 2 * time.Second, time.Minute}[d.N(4, "fn takes")]
	}
	switch d.N(12, "special") {
	case 11, 10, 9:
		s.ending = 1 + d.Habit(len(twin.Endings())-1, "ending")
	case 8:
		s.cancel = cancelling(1 + d.N(3, "cancel"))
	case 7:
		s.nested = 1 + d.N(2, "nested")
	case 6:
		s.close = d.Once(2, "close")
	}
	if s.kind == doTransact {
		s.nested = 0
	}
	if len(s.meddle) > 3 {
		s.pass = 0
	}
	s.at = 1 + d.N(2, "at")
	if len(s.meddle) == 0 {
		s.at = 1
	}
}

func (d *draws) edits() (all []edit) {
	for k := range d.keys {
		e := d.edit(k)
		if d.Once(3, "get only") {
			e = edit{name: "same"}
		}
		all = append(all, e)
	}
	return all
}

func (d *draws) ttl() time.Duration {
	all := twin.TTLs()
	ttl := all[d.N(len(all), "ttl")]
	if unit := d.target.ExpiryUnit; ttl > 0 && unit > 0 {
		ttl = max(ttl.Truncate(unit), unit)
	}
	return ttl
}

// value draws the index of a value in the pool, seldom of a large one.
func (d *draws) value(key int) int {
	all, common := twin.Values(d.kinds[key])
	if d.Once(25, "large") {
		return common + d.N(len(all)-common, "value")
	}
	return d.Habit(common, "value")
}

func (d *draws) edit(key int) edit {
	names := stringEdits()
	if d.kinds[key] == rmw.KindHash {
		names = hashEdits()
	}
	d.ids++
	e := edit{name: names[d.Habit(len(names), "edit")], id: fmt.Sprintf("<%d>", d.ids)}
	switch e.name {
	case "set":
		e.pick = d.value(key)
	case "twin":
		e.pick = d.Habit(64, "twin")
	}
	if e.name == "restart" || d.Once(6, "own ttl") {
		e.ttl = d.ttl()
	}
	return e
}

func (d *draws) meddling() meddling {
	return meddling{
		kind: []meddleKind{meddleTwin, meddleTwin, meddleTwin, meddleResult, meddleResult,
			meddleAppend, meddleDelete, meddleKind2, meddleSame}[d.Habit(9, "how")],
		pick: d.Habit(64, "twin"), ttl: d.ttl(), key: d.N(3, "other key"),
	}
}
