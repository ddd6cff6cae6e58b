package torture

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/servers"
)

// started is an environment of the first topology.
func started(t *testing.T) *Environment {
	servers.Redis(t) // skips or fails without a redis-server
	env, err := Topologies()[0].Start(t.Context(), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(env.Close)
	return env
}

// A cell does not run on servers that cannot be emptied.
func TestUnreadyEnvironment(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	env := started(t)
	require.NoError(t, env.servers[0].Kill())
	r := Cell(ctx, env, Nemeses()[0], time.Minute, 1)
	require.Len(t, r.Errors, 1)
	assert.Contains(t, r.Errors[0], "prepare the servers for a cell: ")
	assert.True(t, r.Bad())
	assert.Empty(t, r.History.ops)
}
