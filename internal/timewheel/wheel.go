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

// The indices of the lists. Those of the slots come first: slot s of level l
// has l*slots+s. No timer is ever in a slot 0 (see Wheel), which frees the
// index 0 to mean that a timer is in no list.
const (
	unscheduled = 0

	beyond    = levels * slots // the tick is outside of the current span
	past      = beyond + 1     // for the next Advance
	ready     = beyond + 2     // for the present one
	listCount = beyond + 3
)

// Wheel holds the scheduled timers. It is not safe for concurrent use.
//
// The place of a timer follows from its tick and the current one alone: read as
// numbers of base 64, the level is the highest digit in which they differ, and
// the slot is that digit of the timer's tick. Every change of the current tick
// keeps it so, by moving down what is in the slots that it enters. Hence
//
//   - the timers of one tick are always in one list, in the order of their
//     scheduling;
//   - an occupied slot is above the current tick's digit of its level, and so
//     never slot 0;
//   - whatever is on a lower level comes first.
type Wheel[T any] struct {
	tick time.Duration
	now  time.Duration // the latest that Advance was given
	cur  uint64        // the current tick
	n    int

	occupied [levels]uint64 // bit s: slot s is not empty
	nearest  uint64         // no timer beyond has an earlier tick
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

// Schedule has t fire at when, rounded up to a tick, and not at the time that it
// may have been scheduled for until now. A time that is not after the latest one
// given to Advance fires in the next Advance.
func (w *Wheel[T]) Schedule(t *Timer[T], when time.Duration) {
	w.Cancel(t)
	w.n++
	t.when = when
	if when <= w.now {
		w.push(t, past)
		return
	}
	w.place(t)
}

// Cancel keeps t from firing, and reports whether it would have fired. Within a
// callback that holds too for what is due in the same Advance.
func (w *Wheel[T]) Cancel(t *Timer[T]) bool {
	if t.at == unscheduled {
		return false
	}
	w.n--
	at := int(t.at)
	l := &w.lists[at]
	l.remove(t)
	t.at = unscheduled
	if l.head == nil {
		w.vacate(at)
	}
	return true
}

// Advance tells the wheel that it is now, and calls fire for every timer that is
// due, in the order of the package documentation. A now before the latest one
// counts as the latest one.
//
// A timer is no longer scheduled when fire is called with it. The callback may
// schedule and cancel any timer, this one included; what it schedules fires in
// a later Advance. It must not call Advance. If it panics, the timers that were
// due after this one fire in the next Advance.
func (w *Wheel[T]) Advance(now time.Duration, fire func(*Timer[T])) {
	w.now = max(w.now, now)
	for t := w.lists[past].head; t != nil; t = w.lists[past].head {
		w.lists[past].remove(t)
		w.push(t, ready)
	}

	// First everything that is due is taken, then it is fired: the callbacks see
	// a wheel that has arrived.
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

// Next returns the earliest moment at which Advance could have anything to do:
// to fire timers, or to move them to a lower level, after which Next is closer
// to their time. No timer fires before it. It is the latest now if a timer is
// past already. An owner that sleeps from one Next to the following is woken at
// most seven times per call of Schedule: once per level that the timer passes.
// ok is false if it need not wake up until something is scheduled.
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

// event returns the next tick that enters an occupied slot, or a span in which a
// timer from beyond could be, and the list that has to move then.
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

// move puts the timers of a list where they belong now, in their order.
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

// place puts t, which is in no list, into the one for its tick. That is not
// before the current one, and is the current one only for move.
func (w *Wheel[T]) place(t *Timer[T]) {
	tick := uint64((t.when-1)/w.tick) + 1 // rounds up, and cannot overflow
	if tick == w.cur {
		w.push(t, ready)
		return
	}
	level := (bits.Len64(tick^w.cur) - 1) / slotBits
	if level >= levels {
		if w.lists[beyond].head == nil || tick < w.nearest {
			w.nearest = tick
		}
		w.push(t, beyond)
		return
	}
	slot := int(tick>>(level*slotBits)) % slots
	w.occupied[level] |= 1 << slot
	w.push(t, level*slots+slot)
}

func (w *Wheel[T]) push(t *Timer[T], at int) {
	w.lists[at].push(t)
	t.at = uint16(at)
}

// vacate notes that a list has become empty.
func (w *Wheel[T]) vacate(at int) {
	if at < beyond {
		w.occupied[at/slots] &^= 1 << (at % slots)
	}
}
