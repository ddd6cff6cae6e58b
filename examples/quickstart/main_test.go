package main

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

func TestRun(t *testing.T) {
	p, err := proxytest.Start(proxytest.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	require.NoError(t, run(t.Context(), p.Addr()))
	require.NoError(t, run(t.Context(), p.Addr()), "joining twice")
}

// Both sides of each diff in the README do the same. The new one is tested without a server.
func TestJoin(t *testing.T) {
	p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis()})
	require.NoError(t, err)
	rdb := redis.NewClient(p.Options())
	defer func() { assert.NoError(t, errors.Join(rdb.Close(), p.Close())) }()
	store := rmwtest.NewMemory()
	for _, member := range []string{"ada", "bob", "ada"} {
		require.NoError(t, joinWatch(t.Context(), rdb, "7", member))
		require.NoError(t, join(t.Context(), store, "7", member))
	}
	assert.Equal(t, "ada bob", rdb.Get(t.Context(), "room:7").Val())
	room, err := store.Read(t.Context(), rmw.Key{Name: "room:7"})
	require.NoError(t, err)
	assert.Equal(t, "ada bob", room.Text())

	for _, to := range []string{"room:8", "room:8"} {
		require.NoError(t, moveWatch(t.Context(), rdb, "room:7", to, "bob"))
		require.NoError(t, move(t.Context(), store, "room:7", to, "bob"))
	}
	assert.Equal(t, []any{"ada", "bob"}, rdb.MGet(t.Context(), "room:7", "room:8").Val())
	rooms, err := rmw.ReadAll(t.Context(), store, rmw.Key{Name: "room:7"}, rmw.Key{Name: "room:8"})
	require.NoError(t, err)
	assert.Equal(t, []string{"ada", "bob"}, []string{rooms[0].Text(), rooms[1].Text()})
}
