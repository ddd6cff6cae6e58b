package timewheel_test

import (
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/timewheel"
)

// session holds its timer by value.
type session struct {
	name string
	idle timewheel.Timer[*session]
}

func Example() {
	wheel := timewheel.New[*session](10 * time.Millisecond)
	open := func(name string, timeout time.Duration) *session {
		s := &session{name: name}
		s.idle.Value = s
		wheel.Schedule(&s.idle, timeout)
		return s
	}
	open("ann", 25*time.Millisecond)
	bob := open("bob", 2*time.Second)
	eve := open("eve", time.Hour)

	wheel.Schedule(&bob.idle, 5*time.Second) // he is still there
	wheel.Cancel(&eve.idle)                  // she has left

	for now, ok := wheel.Next(); ok; now, ok = wheel.Next() {
		// Here its owner would sleep.
		wheel.Advance(now, func(t *timewheel.Timer[*session]) {
			fmt.Printf("%v: %s, due at %v\n", now, t.Value.name, t.When())
		})
	}
	// Output:
	// 30ms: ann, due at 25ms
	// 5s: bob, due at 5s
}
