package rmwtest

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// armed is the fault that waits for its command.
type armed struct {
	left   int
	fault  Fault
	struck bool
}

// Arm implements [Faults]; a load and a commit are one command each.
func (m *Memory) Arm(n int, f Fault) (stop func() bool) {
	a := &armed{left: n, fault: f}
	m.mu.Lock()
	m.armed = a
	m.mu.Unlock()
	return func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.armed == a {
			m.armed = nil
		}
		return a.struck
	}
}

// arrive counts a command and returns what shall happen to it, and how late.
func (m *Memory) arrive() (FaultKind, time.Duration) {
	m.mu.Lock()
	a := m.armed
	if a == nil || a.struck {
		m.mu.Unlock()
		return NoFault, 0
	}
	a.left--
	if a.left > 0 {
		m.mu.Unlock()
		return NoFault, 0
	}
	a.struck = true
	m.mu.Unlock()
	if a.fault.Do != nil {
		a.fault.Do()
	}
	return a.fault.Kind, a.fault.Delay
}

var errCut = errors.New("connection cut")

// lost is the error of a command that got no answer.
func lost(ctx context.Context, kind FaultKind, reason error) error {
	if kind == Hang {
		<-ctx.Done()
		return &rmw.Error{Reason: reason, Cause: ctx.Err()}
	}
	return &rmw.Error{Reason: reason, Cause: errCut}
}
