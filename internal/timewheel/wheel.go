package timewheel

import (
	"math"
	"math/bits"
	"time"
)

const (
	levels   = 6
	slotBits = 6
	slots    = 1 << slotBits
	spanBits = levels * slotBits
)

// The indices of the lists. Slots come first: slot s of level l has l*slots+s.
const (
	beyond    = levels * slots // the tick is outside of the current span
	past      = beyond + 1     // for the next Advance
	ready     = beyond + 2     // for the current Advance
	listCount = beyond + 3
)

// Wheel holds the scheduled timers. It is not safe for concurrent use.
//
// The place of a timer follows from its tick and the current one alone: written as numbers of base 64, the
// level is the highest digit in which they differ, and the slot is that digit of the timer's tick. Every
// change of the current tick keeps this rule, by moving down the timers of the slots that it enters. Hence
//
//   - the timers of one tick are always in one list, in the order of their
//     scheduling;
//   - an occupied slot is above the current tick's digit of its level;
//   - a timer need not store its list;
//   - timers on a lower level come first.
type Wheel[T any] struct {
	tick time.Duration
	now  time.Duration // the latest argument of Advance
	cur  uint64        // the current tick
	n    int

	occupied [levels]uint64 // bit s: slot s is not empty
	nearest  uint64         // no timer beyond the span has an earlier tick
	lists    [listCount]list[T]
}

// New returns an empty wheel at the time 0. It panics if tick is not positive.
func New[T any](tick time.Duration) *Wheel[T] {
	if tick <= 0 {
		panic("timewheel: the tick must be positive")
	}
	return &Wheel[T]{tick: tick}
}

// Len returns the number of scheduled timers.
func (w *Wheel[T]) Len() int { return w.n }

// Schedule makes t fire at when, rounded up to a tick, and replaces an earlier schedule of t. A time that
// is not after the latest argument of Advance fires in the next Advance.
func (w *Wheel[T]) Schedule(t *Timer[T], when time.Duration) {
	w.Cancel(t)
	w.n++
	if when <= w.now {
		t.key = due
		w.lists[past].push(t)
		return
	}
	tick := uint64((when-1)/w.tick) + 1 // rounds up, and cannot overflow
	t.key = tick << 1
	w.place(t)
}

// Cancel keeps t from firing, and reports whether it would have fired. Within a callback this includes
// timers that are due in the same Advance.
func (w *Wheel[T]) Cancel(t *Timer[T]) bool {
	if !t.Scheduled() {
		return false
	}
	w.n--
	at := w.listOf(t)
	l := &w.lists[at]
	l.remove(t)
	if l.head == nil {
		w.vacate(at)
	}
	return true
}

// Advance sets the time of the wheel, and calls fire for every timer that is
// due, in the order of the package documentation. A now before the latest one
// counts as the latest one.
//
// A timer is no longer scheduled when fire is called with it. The callback may
// schedule and cancel any timer, this one included; a timer scheduled there fires
// in a later Advance. It must not call Advance. If it panics, the timers that were
// due after this one fire in the next Advance.
func (w *Wheel[T]) Advance(now time.Duration, fire func(*Timer[T])) {
	w.now = max(w.now, now)
	for t := w.lists[past].head; t != nil; t = w.lists[past].head {
		w.lists[past].remove(t)
		w.lists[ready].push(t)
	}

	// All due timers are collected before the first fires, so that callbacks see
	// the wheel at the new time.
	target := uint64(w.now / w.tick)
	for {
		tick, at, ok := w.event()
		if !ok || tick > target {
			break
		}
		w.cur = tick
		w.move(at)
	}
	w.cur = target

	for t := w.lists[ready].head; t != nil; t = w.lists[ready].head {
		w.Cancel(t)
		fire(t)
	}
}

// Next returns the earliest moment at which Advance can have work: to fire timers, or to move them to a
// lower level, after which Next is closer to their time. No timer fires before it. It is the latest now if
// a timer is past already. An owner that sleeps from one Next to the following wakes at most seven times
// per call of Schedule: once per level that the timer passes. ok is false if the wheel is empty.
func (w *Wheel[T]) Next() (at time.Duration, ok bool) {
	if w.lists[past].head != nil || w.lists[ready].head != nil {
		return w.now, true
	}
	tick, _, ok := w.event()
	if !ok || tick > uint64(math.MaxInt64/w.tick) {
		return 0, false
	}
	return time.Duration(tick) * w.tick, true
}

// event returns the next tick that enters an occupied slot, or a span with a timer from beyond, and the
// list that has to move then.
func (w *Wheel[T]) event() (tick uint64, at int, ok bool) {
	for level, occupied := range w.occupied {
		if occupied == 0 {
			continue
		}
		slot := bits.TrailingZeros64(occupied)
		shift := level * slotBits
		block := w.cur >> (shift + slotBits) << slotBits
		return (block | uint64(slot)) << shift, level*slots + slot, true
	}
	if w.lists[beyond].head != nil {
		return w.nearest >> spanBits << spanBits, beyond, true
	}
	return 0, 0, false
}

// move places the timers of a list again, in their order.
func (w *Wheel[T]) move(at int) {
	first := w.lists[at].head
	w.lists[at].head = nil
	w.vacate(at)
	last := first.prev
	for t := first; ; {
		next := t.next // place overwrites it
		w.place(t)
		if t == last {
			return
		}
		t = next
	}
}

// place adds t, which is in no list, to the list for its tick. That is not before the current tick, and
// equals it only during move.
func (w *Wheel[T]) place(t *Timer[T]) {
	tick := t.key >> 1
	if tick == w.cur {
		t.key = due
		w.lists[ready].push(t)
		return
	}
	at := w.slotOf(tick)
	switch {
	case at < beyond:
		w.occupied[at/slots] |= 1 << (at % slots)
	case w.lists[beyond].head == nil || tick < w.nearest:
		w.nearest = tick
	}
	w.lists[at].push(t)
}

func (w *Wheel[T]) slotOf(tick uint64) int {
	level := uint(bits.Len64(tick^w.cur)-1) / slotBits
	if level >= levels {
		return beyond
	}
	return int(level*slots + uint(tick>>(level*slotBits))%slots)
}

// listOf returns the list of t. For a due timer that is not the first of its list it may return the wrong
// one of two, which makes no difference to a removal.
func (w *Wheel[T]) listOf(t *Timer[T]) int {
	switch {
	case t.key != due:
		return w.slotOf(t.key >> 1)
	case w.lists[past].head == t:
		return past
	}
	return ready
}

// vacate records that a list has become empty.
func (w *Wheel[T]) vacate(at int) {
	if at < beyond {
		w.occupied[at/slots] &^= 1 << (at % slots)
	}
}
