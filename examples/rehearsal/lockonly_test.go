package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// An update under the lock alone keeps the expiry too.
func TestLockOnlyKeepsTheExpiry(t *testing.T) {
	r, _ := opened(t, small(t, "codis", ""))
	rdb := r.stage.proxy.client(&traffic{})
	defer func() { assert.NoError(t, rdb.Close()) }()
	store := onLockOnly(r.stage.proxy, "lock only", lockupdate.Config{}).open(rdb)
	defer func() { assert.NoError(t, store.Close()) }()
	for _, next := range []rmw.Value{rmw.String("a").WithTTL(time.Hour), rmw.String("b")} {
		_, err := store.Update(t.Context(), rmw.Key{Name: "k"}, func(context.Context, rmw.Value) (rmw.Value, error) { return next, nil })
		require.NoError(t, err)
		peeker, ok := rmw.As[rmw.Peeker](store)
		require.True(t, ok)
		v, left, err := peeker.Peek(t.Context(), rmw.Key{Name: "k"})
		require.NoError(t, err)
		assert.Equal(t, next.Text(), v.Text())
		assert.InDelta(t, time.Hour, left, float64(10*time.Minute))
	}
}
