package main

import (
	"context"
	"testing"
	"testing/synctest"

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

// A pipeline is one round trip, and a handshake none. Keys with the prefix are remembered.
func TestTraffic(t *testing.T) {
	tr := &traffic{keys: newKeys("p:")}
	require.NoError(t, tr.write(cmds([]any{"hello", 2}), sent))
	require.NoError(t, tr.write(cmds([]any{"client", "setinfo", "lib", "x"}, []any{"get", "p:k"}), sent))
	require.NoError(t, tr.write(cmds([]any{"multi"}, []any{"set", "p:l", "v"}, []any{"get", "other"}, []any{"exec"}), sent))
	require.NoError(t, tr.write(cmds([]any{"evalsha", "ab", 1, "p:m", "x"}), sent))
	trips, commands, trace := tr.take()
	assert.Equal(t, 3, trips)
	assert.Equal(t, 6, commands)
	assert.Equal(t, [][]command{
		{{"GET", "p:k", 0}},
		{{"MULTI", "", 0}, {"SET", "p:l", 1}, {"GET", "other", 0}, {"EXEC", "", 0}},
		{{"EVALSHA", "p:m", 1}},
	}, trace)
	assert.Equal(t, map[string]bool{"p:k": true, "p:l": true, "p:m": true}, tr.keys.sent)
	trips, commands, trace = tr.take()
	assert.Zero(t, trips+commands+len(trace), "it was taken")
}

// A frozen process sends nothing. After thaw it sends everything.
func TestFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, arrived := &traffic{keys: newKeys("")}, 0
		thaw := tr.freeze()
		go func() {
			_ = tr.write(cmds([]any{"get", "k"}), func() error { arrived++; return nil })
		}()
		synctest.Wait()
		require.Zero(t, arrived, "frozen")
		thaw()
		synctest.Wait()
		require.Equal(t, 1, arrived, "thawed")
	})
}
