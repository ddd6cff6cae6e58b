package integration

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// A server without memory refuses a Transact, and no key stays sealed.
func TestTransactWithoutMemory(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	admin := client(t, server.Addr)
	text, hash := rmw.Key{Name: "text"}, rmw.Key{Name: "hash", Kind: rmw.KindHash}
	s := lockupdate.New(client(t, server.Addr), lockupdate.Config{MaxWait: 2 * time.Second})
	fn := func(_ context.Context, tx *rmw.Tx) error {
		tx.Put(text, rmw.String(tx.Get(text).Text()+"x"))
		tx.Put(hash, tx.Get(hash).With("f", tx.Get(text).Text()))
		return nil
	}
	for range 2 {
		_, err := rmw.Transact(t.Context(), s, fn, text, hash)
		require.NoError(t, err)
	}
	require.NoError(t, admin.ConfigSet(t.Context(), "maxmemory", "1").Err())
	_, err := rmw.Transact(t.Context(), s, fn, text, hash)
	require.ErrorIs(t, err, rmw.ErrUnavailable)
	assert.NoError(t, s.Close())
	assert.Equal(t, "xx", admin.Get(t.Context(), text.Name).Val())
	assert.Equal(t, "xx", admin.HGet(t.Context(), hash.Name, "f").Val())
}
