package redisx_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// wrapper is a client of a program that embeds one of go-redis.
type wrapper struct{ *redis.Ring }

// holder is a wrapper that hides its client.
type holder struct{ rdb redis.UniversalClient }

func TestCheckClient(t *testing.T) {
	client, streamed := redis.NewClient(&redis.Options{}), redis.NewClient(&redis.Options{}) // a client has one AutoPipeliner
	ring := redis.NewRing(&redis.RingOptions{})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{})
	auto := func(full bool, of interface {
		AutoPipelineWithOptions(*redis.AutoPipelineOptions) (*redis.AutoPipeliner, error)
	},
	) *redis.AutoPipeliner {
		a, err := of.AutoPipelineWithOptions(&redis.AutoPipelineOptions{FullDuplex: full})
		require.NoError(t, err)
		return a
	}
	_, err := ring.AutoPipelineWithOptions(&redis.AutoPipelineOptions{})
	require.Error(t, err, "or CheckClient must recognize it")
	t.Cleanup(func() {
		for _, rdb := range []redis.UniversalClient{client, streamed, ring, cluster} {
			assert.NoError(t, rdb.Close())
		}
	})
	for _, tc := range []struct {
		name   string
		client any
		want   string // "" if the client fits
	}{
		{"Client", client, ""},
		{"ClusterClient", cluster, ""},
		{"AutoPipeliner", auto(false, client), ""},
		{"AutoPipeliner of a ClusterClient", auto(false, cluster), ""},
		{"FullDuplex", auto(true, streamed), "p.New cannot use an AutoPipeliner with FullDuplex as node 1"},
		{"Ring", ring, "p.New cannot use a redis.Ring as node 1: while a server does not answer"},
		{"Ring in an interface", redis.UniversalClient(ring), "p.New cannot use a redis.Ring as node 1"},
		{"Ring embedded", wrapper{ring}, "p.New cannot use a redis.Ring as node 1"},
		{"Ring hidden, as the documents say", holder{ring}, ""},
		{"nil", nil, ""},
	} {
		err := redisx.CheckClient("p.New", " as node 1", tc.client)
		if tc.want == "" {
			assert.NoError(t, err, tc.name)
			continue
		}
		require.ErrorIs(t, err, rmw.ErrInvalid, tc.name)
		assert.ErrorContains(t, err, tc.want, tc.name)
	}
}
