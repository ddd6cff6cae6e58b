package redlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate/redlock"
	"github.com/unwatch/unwatch/rmw"
)

// What cannot work is said by Validate and by every call, and names the field.
func TestInvalidConfig(t *testing.T) {
	require.NoError(t, redlock.Config{}.Validate())
	require.NoError(t, redlock.Config{Lease: 10 * time.Millisecond}.Validate(), "the defaults fit the shortest lease")
	for field, cfg := range map[string]redlock.Config{
		"Lease":       {Lease: time.Millisecond},
		"LockDelay":   {LockDelay: -1},
		"MaxWait":     {MaxWait: -1},
		"MaxHold":     {MaxHold: -1},
		"NodeTimeout": {Lease: time.Second, NodeTimeout: 251 * time.Millisecond},
		"Drift":       {Lease: time.Second, Drift: 501 * time.Millisecond},
		"Poll":        {Poll: rmw.Backoff{Base: -1}},
	} {
		err := cfg.Validate()
		require.ErrorIs(t, err, rmw.ErrInvalid)
		assert.ErrorContains(t, err, "redlock.Config."+field+" is ")
		requireInvalid(t, []redlock.Node{client()}, cfg, field)
	}
}

func TestInvalidNodes(t *testing.T) {
	one := client()
	requireInvalid(t, nil, redlock.Config{}, "at least one node")
	requireInvalid(t, []redlock.Node{one, nil}, redlock.Config{}, "node 1 is nil")
	requireInvalid(t, []redlock.Node{(*redis.Client)(nil)}, redlock.Config{}, "node 0 is nil")
	fullDuplex, err := client().AutoPipelineWithOptions(&redis.AutoPipelineOptions{FullDuplex: true})
	require.NoError(t, err)
	requireInvalid(t, []redlock.Node{one, fullDuplex}, redlock.Config{}, "an AutoPipeliner with FullDuplex as node 1")
	ring := redis.NewRing(&redis.RingOptions{})
	t.Cleanup(func() { require.NoError(t, ring.Close()) })
	requireInvalid(t, []redlock.Node{one, ring}, redlock.Config{}, "redlock.New cannot use a redis.Ring as node 1")
	requireInvalid(t, []redlock.Node{one, client(), one}, redlock.Config{}, "nodes 0 and 2 are the same")
	requireInvalid(t, []redlock.Node{uncomparable{}, uncomparable{}, nil}, redlock.Config{}, "node 2 is nil")
}

func requireInvalid(t *testing.T, nodes []redlock.Node, cfg redlock.Config, text string) {
	t.Helper()
	l := redlock.New(nodes, cfg)
	err := l.WithLock(t.Context(), "a", nothing)
	require.ErrorIs(t, err, rmw.ErrInvalid)
	require.ErrorContains(t, err, text)
	var e *rmw.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "redlock", e.Path)
	assert.Equal(t, "a", e.Key)
	require.NoError(t, l.Close())
}

// client is one that is not used.
func client() *redis.Client { return redis.NewClient(&redis.Options{Addr: "192.0.2.1:6379"}) }

type uncomparable struct{ _ []int }

func (uncomparable) Process(context.Context, redis.Cmder) error { return nil }
