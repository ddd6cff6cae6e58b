package main

import (
	"context"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func cmds(words ...[]any) (out []redis.Cmder) {
	for _, w := range words {
		out = append(out, redis.NewCmd(context.Background(), w...))
	}
	return out
}

func sent() error { return nil }

// A pipeline is one round trip, and a handshake none. Keys are remembered, to delete them.
func TestTraffic(t *testing.T) {
	tr := &traffic{keys: new(sync.Map)}
	require.NoError(t, tr.write(cmds([]any{"hello", 2}), sent))
	require.NoError(t, tr.write(cmds([]any{"client", "setinfo", "lib", "x"}, []any{"get", "p:k"}), sent))
	require.NoError(t, tr.write(cmds([]any{"multi"}, []any{"set", "p:l", "v"}, []any{"get", "other"}, []any{"exec"}), sent))
	require.NoError(t, tr.write(cmds([]any{"evalsha", "ab", 1, "p:m", "x"}), sent))
	assert.Equal(t, 3, tr.trips)
	assert.Equal(t, 6, tr.commands)
	assert.Equal(t, [][]command{
		{{"GET", "p:k", 0}},
		{{"MULTI", "", 0}, {"SET", "p:l", 1}, {"GET", "other", 0}, {"EXEC", "", 0}},
		{{"EVALSHA", "p:m", 1}},
	}, tr.trace)
	for _, key := range []string{"p:k", "p:l", "p:m", "other"} {
		_, seen := tr.keys.Load(key)
		assert.True(t, seen, key)
	}
}
