package timewheel

// Timer is an entry of a [Wheel]. It contains its Value, so that neither needs a pointer to the other, and
// adds 24 bytes. A type that is defined as a Timer can have methods, and a pointer to it converts to one to
// the Timer, and back. The zero Timer is ready for use. A scheduled Timer must not be copied. A Timer must
// be in one wheel at a time.
type Timer[T any] struct {
	_ noCopy

	// Value is the owner's: the wheel never uses it.
	Value T

	next, prev *Timer[T] // a ring; nil: not scheduled
	key        uint64    // twice the tick; or due
}

// due is the key of a timer that the next or the current Advance fires.
const due = 1

// Scheduled reports whether the timer is yet to fire. It is false within the callback, unless that has
// scheduled the timer again.
func (t *Timer[T]) Scheduled() bool { return t.next != nil }

// noCopy makes go vet report copies: a copy of a scheduled timer would corrupt the ring.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// list is a ring of timers with a pointer to the first. It has no sentinel, which would be as large as a
// Value.
type list[T any] struct{ head *Timer[T] }

func (l *list[T]) push(t *Timer[T]) {
	if l.head == nil {
		l.head, t.next, t.prev = t, t, t
		return
	}
	t.next, t.prev = l.head, l.head.prev
	t.prev.next, t.next.prev = t, t
}

// remove clears the pointers in t: t may live long, and would keep its former neighbours alive.
func (l *list[T]) remove(t *Timer[T]) {
	if t.next == t {
		l.head = nil
	} else {
		t.prev.next, t.next.prev = t.next, t.prev
		if l.head == t {
			l.head = t.next
		}
	}
	t.next, t.prev = nil, nil
}
