package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

func TestRun(t *testing.T) {
	p, err := proxytest.Start(proxytest.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	require.NoError(t, run(t.Context(), p.Addr()))
	require.NoError(t, run(t.Context(), p.Addr()), "joining twice")
}

// What the README says of a service's own unit tests: they need no server.
func TestJoin(t *testing.T) {
	store := rmwtest.NewMemory()
	for i := range 100 {
		_, err := join(t.Context(), store, "7", fmt.Sprint("member", i))
		require.NoError(t, err)
	}
	room, err := join(t.Context(), store, "7", "member3")
	require.NoError(t, err)
	assert.Len(t, room.Members, 100)
	_, err = join(t.Context(), store, "7", "late")
	require.ErrorIs(t, err, ErrRoomFull)
}
