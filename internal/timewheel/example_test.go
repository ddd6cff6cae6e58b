package timewheel_test

import (
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/timewheel"
)

// session is a timer and what it times.
type session timewheel.Timer[state]

type state struct{ name string }

func (s *session) timer() *timewheel.Timer[state] { return (*timewheel.Timer[state])(s) }

func Example() {
	wheel := timewheel.New[state](10 * time.Millisecond)
	open := func(name string, timeout time.Duration) *session {
		s := &session{Value: state{name: name}}
		wheel.Schedule(s.timer(), timeout)
		return s
	}
	open("ann", 25*time.Millisecond)
	bob := open("bob", 2*time.Second)
	eve := open("eve", time.Hour)

	wheel.Schedule(bob.timer(), 5*time.Second) // bob is active again
	wheel.Cancel(eve.timer())                  // eve has disconnected

	for now, ok := wheel.Next(); ok; now, ok = wheel.Next() {
		// The owner would sleep here.
		wheel.Advance(now, func(t *timewheel.Timer[state]) {
			fmt.Printf("%v: %s\n", now, (*session)(t).Value.name)
		})
	}
	// Output:
	// 30ms: ann
	// 5s: bob
}
