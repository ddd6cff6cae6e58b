package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
)

// A session under another's key is an error, and one without an id has that of its key.
func TestIDs(t *testing.T) {
	each(t, session.Config{}, func(b *fixture) {
		b.put("session:s", `{"id":"cs-s","status":"queued"}`)
		b.untouched("session:s", func() {
			_, err := b.sessions.SetPriority(b.Context(), "s", op("a", 1), 3)
			require.ErrorIs(b, err, rmw.ErrUndecodable)
			require.ErrorContains(b, err, `the key is that of the session "s"`)
		})
		b.put("session:s", `{"id":"","status":"queued"}`)
		s, err := b.sessions.SetPriority(b.Context(), "s", op("a", 1), 3)
		require.NoError(b, err)
		assert.Equal(b, "s", s.ID)
		assert.Equal(b, "s", b.get().ID)
	})
}
