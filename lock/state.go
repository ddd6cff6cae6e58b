package lock

import (
	"context"
	"fmt"
)

// State is how sure the holder of a lock can be of it.
type State uint8

// The states of a held lock.
const (
	// Safe: the last renewal succeeded.
	Safe State = iota
	// Jeopardy: the lease has not ended, but the last renewal failed or was not
	// answered. The lock becomes Safe again with the next successful renewal, or Lost
	// at the end of the lease. Postpone what cannot be undone.
	Jeopardy
	// Lost: the lock was lost or unlocked.
	Lost
)

// String returns the state's name.
func (s State) String() string {
	switch s {
	case Safe:
		return "safe"
	case Jeopardy:
		return "jeopardy"
	case Lost:
		return "lost"
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// StateOf returns the state of the innermost lock that ctx holds. It reads the clock of
// this process, and sends no request. A ctx that holds no lock is Lost.
func StateOf(ctx context.Context) State {
	if held, ok := ctx.Value(ContextKey{}).(Held); ok {
		return held.State()
	}
	return Lost
}
