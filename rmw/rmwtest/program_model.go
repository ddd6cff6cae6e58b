package rmwtest

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// history records the calls of a program with their results. Its model has linearizable registers with an expiry.
// A Transact is one step of several registers.
type history struct {
	unit time.Duration // of expiries, and the rounding of a few commands

	mu     sync.Mutex
	events []event

	values  []rmw.Value // by number; 0 is absent
	numbers map[uint64][]int
	seed    maphash.Seed
}

// event is the begin or the end of an effect.
type event struct {
	*effect
	end bool
	at  time.Time
}

// effect is the atomic effect of a call, at a moment between its begin and its end.
type effect struct {
	says    string
	parts   []part // none: the call had no effect
	unknown bool   // it may have happened, or may yet
	begun   time.Time
}

// part is the effect on one key. Before edit, the key must have the value that was seen.
type part struct {
	key    int
	blind  bool                               // nothing was seen
	not    bool                               // a value of another kind than kind was seen
	kind   rmw.Kind                           // for not
	seen   rmw.Value                          //
	fields []string                           // if not nil, only these of seen matter
	left   time.Duration                      // if not 0, the time that the value had left
	edit   func(rmw.Value) rmw.Value          // nil: nothing is written
	ttl    func(next rmw.Value) time.Duration // as Key.TTL
	slack  time.Duration                      // the expiry may begin so much later
}

func newHistory(unit time.Duration) *history {
	return &history{unit: unit + 3*time.Millisecond, values: []rmw.Value{{}}, numbers: map[uint64][]int{}, seed: maphash.MakeSeed()}
}

// begin records the begin of a call.
func (h *history) begin(says string) *effect {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := &effect{says: says, begun: time.Now()}
	h.events = append(h.events, event{effect: e, at: e.begun})
	return e
}

// end records the end of a call, and its effect.
func (h *history) end(e *effect, parts ...part) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.parts = parts
	h.events = append(h.events, event{effect: e, end: true, at: time.Now()})
}

// unknown records that the effect may have happened, or may yet.
func (h *history) unknown(e *effect, parts ...part) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.parts, e.unknown = parts, true
}

// register is the state of a key.
type register struct {
	value       int
	early, late time.Time // the expiry is between both; zero: none
	slack       time.Duration
}

// world is a state that the keys may have.
type world struct {
	keys map[int]register
	done []*effect // applied before their end
}

func (w world) id() string {
	var b strings.Builder
	for _, k := range slices.Sorted(mapKeys(w.keys)) {
		r := w.keys[k]
		fmt.Fprintf(&b, "%d=%d", k, r.value)
		if !r.late.IsZero() {
			fmt.Fprintf(&b, "@%d-%d", r.early.UnixNano(), r.late.UnixNano())
		}
		b.WriteByte(' ')
	}
	for _, e := range w.done {
		fmt.Fprintf(&b, "%p ", e)
	}
	return b.String()
}

func mapKeys(m map[int]register) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// check returns a violation if no order of the effects explains the results, else "".
func (h *history) check() string {
	for _, group := range h.groups() {
		if violation := h.explain(group); violation != "" {
			return violation
		}
	}
	return ""
}

// groups are the events by keys that no effect joins.
func (h *history) groups() [][]event {
	parent := map[int]int{}
	var root func(k int) int
	root = func(k int) int {
		if p, ok := parent[k]; ok && p != k {
			return root(p)
		}
		return k
	}
	for _, e := range h.events {
		for _, p := range e.parts {
			parent[root(p.key)] = root(e.parts[0].key)
		}
	}
	byRoot := map[int][]event{}
	var order []int
	for _, e := range h.events {
		if len(e.parts) == 0 {
			continue
		}
		k := root(e.parts[0].key)
		if byRoot[k] == nil {
			order = append(order, k)
		}
		byRoot[k] = append(byRoot[k], e)
	}
	all := make([][]event, 0, len(order))
	for _, k := range order {
		all = append(all, byRoot[k])
	}
	return all
}

// maxWorlds bounds the search. Beyond it a history counts as right.
const maxWorlds = 5_000

// explain follows all states that the keys may have from event to event.
func (h *history) explain(events []event) string {
	worlds := []world{{keys: map[int]register{}}}
	var pending []*effect
	for _, e := range events {
		if !e.end {
			pending = append(pending, e.effect)
			continue
		}
		reached, all := h.reach(worlds, pending, e)
		if !all {
			return ""
		}
		if reached == nil {
			return fmt.Sprintf("%s: no order of the calls explains it\n%s", e.says, h.say(worlds, e))
		}
		worlds = reached
		pending = slices.DeleteFunc(pending, func(p *effect) bool { return p == e.effect })
	}
	return ""
}

// reach returns the worlds in which the effect that ends has happened, along with any of the pending ones. all is false
// if there are too many.
func (h *history) reach(worlds []world, pending []*effect, e event) (reached []world, all bool) {
	seen := map[string]bool{}
	next := slices.Clone(worlds)
	for len(next) > 0 {
		if len(seen) > maxWorlds {
			return nil, false
		}
		w := next[len(next)-1]
		next = next[:len(next)-1]
		w = h.applyReads(w, pending, e.at)
		id := w.id()
		if seen[id] {
			continue
		}
		seen[id] = true
		if i := slices.Index(w.done, e.effect); i >= 0 {
			reached = append(reached, world{w.keys, slices.Delete(slices.Clone(w.done), i, i+1)})
			continue
		}
		for _, p := range pending {
			if !slices.Contains(w.done, p) {
				next = append(next, h.apply(w, p, e.at)...)
			}
		}
	}
	return reached, true
}

// applyReads returns the world after all pending effects that can have happened and change nothing. To have them
// done is never worse than to have them pending.
func (h *history) applyReads(w world, pending []*effect, now time.Time) world {
	for _, p := range pending {
		if slices.Contains(w.done, p) || slices.ContainsFunc(p.parts, func(p part) bool { return p.edit != nil }) {
			continue
		}
		after := h.apply(w, p, now)
		if len(after) == 1 && maps.Equal(after[0].keys, w.keys) {
			w = after[0]
		}
	}
	return w
}

// apply returns the worlds after an effect that happened by now.
func (h *history) apply(w world, e *effect, now time.Time) []world {
	after := []world{{w.keys, append(slices.Clone(w.done), e)}}
	for _, p := range e.parts {
		var more []world
		for _, w := range after {
			for _, r := range h.step(w.keys[p.key], p, e.begun, now) {
				keys := make(map[int]register, len(w.keys)+1)
				maps.Copy(keys, w.keys)
				keys[p.key] = r
				more = append(more, world{keys, w.done})
			}
		}
		after = more
	}
	return after
}

// step returns the states of a key after a part that happened between two moments.
func (h *history) step(r register, p part, from, to time.Time) []register {
	before := []register{r}
	if r.value != 0 && !r.late.IsZero() {
		before = nil
		if from.Before(r.late) {
			before = append(before, r)
		}
		if !to.Before(r.early) {
			before = append(before, register{})
		}
	}
	var after []register
	for _, r := range before {
		if r, ok := h.matches(r, p, from, to); ok {
			after = append(after, h.write(r, p, from, to))
		}
	}
	return after
}

// matches reports whether the state of a key agrees with a part, and returns the state with narrower bounds of its expiry.
func (h *history) matches(r register, p part, from, to time.Time) (register, bool) {
	v := h.values[r.value]
	switch {
	case p.blind:
		return r, true
	case p.not:
		return r, v.Exists() && v.Kind() != p.kind
	case p.fields != nil:
		if v.Exists() != p.seen.Exists() || v.Kind() != p.seen.Kind() {
			return r, false
		}
		for _, f := range p.fields {
			a, inA := v.Field(f)
			b, inB := p.seen.Field(f)
			if a != b || inA != inB {
				return r, false
			}
		}
		return r, true
	case !v.Equal(p.seen):
		return r, false
	case p.left == 0 || !v.Exists():
		return r, true
	case p.left == rmw.NoTTL || r.late.IsZero():
		return r, p.left == rmw.NoTTL && r.late.IsZero()
	}
	early, late := from.Add(p.left-2*h.unit-r.slack), to.Add(p.left+2*h.unit+r.slack)
	if early.After(r.early) {
		r.early = early
	}
	if late.Before(r.late) {
		r.late = late
	}
	return r, !r.early.After(r.late)
}

func (h *history) write(r register, p part, from, to time.Time) register {
	if p.edit == nil {
		return r
	}
	next := p.edit(h.values[r.value])
	was := r
	r = register{value: h.number(next)}
	if r.value == 0 {
		return r
	}
	switch ttl := p.ttl(next); {
	case ttl > 0:
		r.early, r.late, r.slack = from.Add(ttl-h.unit), to.Add(ttl+h.unit+p.slack), p.slack
	case ttl == 0:
		r.early, r.late, r.slack = was.early, was.late, was.slack
	}
	return r
}

// number returns that of a value.
func (h *history) number(v rmw.Value) int {
	v = v.WithTTL(0)
	if !v.Exists() {
		return 0
	}
	sum := maphash.String(h.seed, v.Text())
	for name, text := range v.All() {
		sum += maphash.String(h.seed, name+"\x00"+text)
	}
	for _, i := range h.numbers[sum] {
		if h.values[i].Equal(v) {
			return i
		}
	}
	h.values = append(h.values, v)
	h.numbers[sum] = append(h.numbers[sum], len(h.values)-1)
	return len(h.values) - 1
}

// say prints the values of an effect, and those of the model.
func (h *history) say(worlds []world, e event) string {
	var b strings.Builder
	for _, p := range e.parts {
		switch {
		case p.blind:
			continue
		case p.not:
			fmt.Fprintf(&b, "\tseen under key %d: a value of another kind than %v\n", p.key, p.kind)
		default:
			fmt.Fprintf(&b, "\tseen under key %d: %s%s\n", p.key, brief(p.seen), leftText(p.left))
		}
		for i, w := range worlds {
			if i == 4 {
				fmt.Fprintf(&b, "\tor others\n")
				break
			}
			r := w.keys[p.key]
			left := time.Duration(0)
			if !r.late.IsZero() {
				left = r.late.Sub(e.at)
			} else if r.value != 0 {
				left = rmw.NoTTL
			}
			fmt.Fprintf(&b, "\tmodel before the call: %s%s\n", brief(h.values[r.value]), leftText(left))
		}
	}
	return b.String()
}

func leftText(left time.Duration) string {
	switch left {
	case 0:
		return ""
	case rmw.NoTTL:
		return ", without an expiry"
	}
	return fmt.Sprintf(", %v left", left)
}
