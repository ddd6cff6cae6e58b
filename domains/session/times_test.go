package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
)

// Durations are computed from the stored times.
func TestDerivedTimes(t *testing.T) {
	const min = time.Minute
	s := session.Session{ID: "s", Status: session.Bot, CreatedAt: at(0), UpdatedAt: at(0)}
	steps := []struct {
		name                           string
		do                             func(at domains.Time) error
		waited, first, lasted, chatted time.Duration // seen a minute later
	}{
		{"a program answers", func(domains.Time) error { return nil }, 0, 0, 1 * min, 0},
		{"queued at 1", func(at domains.Time) error { return s.Escalate(at, "q") }, 1 * min, 0, 2 * min, 0},
		{"waiting at 2", s.VisitorWrites, 2 * min, 0, 3 * min, 0},
		{"ann's at 3", func(at domains.Time) error { return s.Assign(at, "ann", s.Epoch) }, 2 * min, 0, 4 * min, 0},
		{"answered at 4", func(at domains.Time) error { return s.Reply(at, "ann") }, 2 * min, 4 * min, 5 * min, 0},
		{"the visitor at 5", s.VisitorWrites, 2 * min, 4 * min, 6 * min, 1 * min},
		{"ben's at 6", func(at domains.Time) error { return s.Transfer(at, "ben", s.Epoch, "", "") },
			2 * min, 4 * min, 7 * min, 1 * min},
		{"answered at 7", func(at domains.Time) error { return s.Reply(at, "ben") }, 2 * min, 4 * min, 8 * min, 3 * min},
		{"queued at 8", func(at domains.Time) error { return s.Requeue(at, "ben", "", "", "") },
			1 * min, 4 * min, 9 * min, 3 * min},
		{"waiting at 9", func(at domains.Time) error { return s.SetPriority(at, 9) }, 2 * min, 4 * min, 10 * min, 3 * min},
		{"ann's at 10", func(at domains.Time) error { return s.Assign(at, "ann", s.Epoch) }, 2 * min, 4 * min, 11 * min, 3 * min},
		{"closed at 11", func(at domains.Time) error { return s.Close(at, session.ByAgent, windows) },
			2 * min, 4 * min, 11 * min, 7 * min},
		{"still closed at 12", func(at domains.Time) error { return s.Fence(at, s.Epoch) }, 2 * min, 4 * min, 11 * min, 7 * min},
		{"reopened at 13", func(at domains.Time) error { return s.Reopen(at, s.Epoch) }, 1 * min, 4 * min, 14 * min, 3 * min},
		{"closed at 14", func(at domains.Time) error { return s.Close(at, session.QueueTimeout, windows) },
			1 * min, 4 * min, 14 * min, 10 * min},
	}
	for i, step := range steps {
		require.NoError(t, step.do(at(i)), step.name)
		require.NoError(t, s.Check(), step.name)
		assert.Equal(t, step.waited, s.Waited(minute(i+1)), "%s: Waited", step.name)
		assert.Equal(t, step.first, s.FirstResponse(), "%s: FirstResponse", step.name)
		assert.Equal(t, step.lasted, s.Lasted(minute(i+1)), "%s: Lasted", step.name)
		assert.Equal(t, step.chatted, s.Chatted(), "%s: Chatted", step.name)
	}
}

// A clock that is behind gives no negative durations, and neither does a session of which not all times are
// known.
func TestDerivedTimesAreNotNegative(t *testing.T) {
	for _, s := range []session.Session{
		{Status: session.Queued, CreatedAt: at(5), QueuedAt: at(6)},
		{Status: session.Active, CreatedAt: at(5), FirstResponseAt: at(7), LastVisitorAt: at(6)},
		{Status: session.Active, CreatedAt: at(5), QueuedAt: at(6), TakenAt: at(4), AssignedAt: at(6)},
		{Status: session.Queued, CreatedAt: at(2), QueuedAt: at(6), TakenAt: at(4)},
		{},
	} {
		assert.Zero(t, s.Waited(minute(0)))
		assert.Zero(t, s.Lasted(minute(0)))
		assert.Zero(t, s.Chatted())
		assert.GreaterOrEqual(t, s.FirstResponse(), time.Duration(0))
	}
}
