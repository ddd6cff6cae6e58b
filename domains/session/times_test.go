package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/domains/session"
)

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
