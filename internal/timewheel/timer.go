package timewheel

import "time"

// Timer is an entry of a [Wheel]. Embed it in what it times, or hold it there by
// value: it is the wheel that points to it. The zero Timer is ready for use. It
// must not be copied while it is scheduled, and be in one wheel at a time.
type Timer[T any] struct {
	_ noCopy

	// Value is the owner's: the wheel never looks at it. A pointer to what holds
	// the Timer leads from the callback back there.
	Value T

	next, prev *Timer[T] // a ring
	when       time.Duration
	at         uint16 // the list it is in; 0: none
}

// Scheduled reports whether the timer is yet to fire. It is false within the
// callback, unless that has scheduled the timer again.
func (t *Timer[T]) Scheduled() bool { return t.at != unscheduled }

// When returns the time that was last given to [Wheel.Schedule], even if the
// timer has fired or was cancelled since.
func (t *Timer[T]) When() time.Duration { return t.when }

// noCopy makes go vet report copies: one of a scheduled timer would corrupt the
// ring.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// list is a ring of timers, of which it knows the first. It has no sentinel,
// which would be as large as a Value.
type list[T any] struct{ head *Timer[T] }

func (l *list[T]) push(t *Timer[T]) {
	if l.head == nil {
		l.head, t.next, t.prev = t, t, t
		return
	}
	t.next, t.prev = l.head, l.head.prev
	t.prev.next, t.next.prev = t, t
}

// remove leaves no pointers in t, which may live on for long and would keep its
// former neighbours alive.
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
