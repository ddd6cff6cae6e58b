package mcc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/rmw"
)

// An agent under another's key is an error, and one without an id has that of the key.
func TestIDs(t *testing.T) {
	each(t, mcc.Config{}, func(b *fixture) {
		b.put(`{"id":"b","status":"away"}`)
		b.untouched("another's", func() {
			_, err := b.agents.SetMax(b.Context(), "a", b.op(1), 3)
			require.ErrorIs(b, err, rmw.ErrUndecodable)
			require.ErrorContains(b, err, `the key is that of the agent "a"`)
		})
		b.put(`{"id":"","status":"away"}`)
		a, err := b.agents.SetMax(b.Context(), "a", b.op(1), 3)
		require.NoError(b, err)
		assert.Equal(b, "a", a.ID)
		assert.Equal(b, "a", b.get().ID)
	})
}
