package integration

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// A server that refuses a command inside a script does so in the middle of the script.

// A lock without an expiry is deleted again: it would stay for ever.
func TestNoLockWithoutExpiry(t *testing.T) {
	server := servers.Redis(t, "--rename-command", "PEXPIRE", "")
	rdb := client(t, server.Addr)
	store := lockupdate.New(rdb, lockupdate.Config{})
	_, err := store.Update(t.Context(), rmw.Key{Name: "k"}, func(context.Context, rmw.Value) (rmw.Value, error) {
		return rmw.String("x"), nil
	})
	require.ErrorIs(t, err, rmw.ErrUnsupported)
	require.NoError(t, store.Close())
	assert.Zero(t, rdb.DBSize(t.Context()).Val(), "something is left behind")
}

// A commit that failed half-way has an unknown outcome.
func TestPartialCommitIsUnknown(t *testing.T) {
	server := servers.Redis(t, "--rename-command", "PERSIST", "")
	rdb := client(t, server.Addr)
	store := lockupdate.New(rdb, lockupdate.Config{})
	key := rmw.Key{Name: "k", Kind: rmw.KindHash, TTL: rmw.NoTTL}
	_, err := store.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		return cur.With("field", "value"), nil
	})
	require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
	require.NoError(t, store.Close())
	assert.Equal(t, "value", rdb.HGet(t.Context(), key.Name, "field").Val(), "control: it was written")
}

// A server quotes the arguments of an unknown command. Errors must not contain stored values.
func TestErrorsHideArguments(t *testing.T) {
	server := servers.Redis(t, "--rename-command", "HMSET", "")
	store := cas.New(client(t, server.Addr), cas.Config{})
	_, err := store.Update(t.Context(), rmw.Key{Name: "k", Kind: rmw.KindHash}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		return cur.With("password", "SECRET"), nil
	})
	require.ErrorIs(t, err, rmw.ErrUnsupported)
	assert.NotContains(t, err.Error(), "SECRET")
	require.NoError(t, store.Close())
}

// A real server with Lua is recognized; one with an ACL that forbids scripts, and without compare-and-set,
// is unusable.
func TestProbe(t *testing.T) {
	server := servers.Redis(t)
	admin := client(t, server.Addr)
	got, err := lockupdate.Probe(t.Context(), admin)
	require.NoError(t, err)
	assert.Equal(t, lockupdate.CommitGuarded, got)
	assert.Zero(t, admin.DBSize(t.Context()).Val(), "it leaves nothing behind")

	plain := withRights(t, admin, server.Addr, []string{"plain", "reset", "on", ">...", "~*", "+@all", "-@scripting"})
	_, err = lockupdate.Probe(t.Context(), plain)
	require.ErrorIs(t, err, rmw.ErrUnsupported)
}
