package proxycompat_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// unguarded is a hook without its check at the connection.
type unguarded struct{ redis.Hook }

func (unguarded) DialHook(next redis.DialHook) redis.DialHook { return next }

// A full-duplex AutoPipeline sends a command that a hook refuses. Explain calls it fatal for that reason,
// and lockupdate.New refuses it; if this test fails after an update of go-redis, remove both. The control
// is half-duplex.
func TestFullDuplexSendsWhatAHookRefuses(t *testing.T) {
	for _, full := range []bool{true, false} {
		p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Codis32(), InMemory: true, Engines: 1})
		require.NoError(t, err)
		opts := p.Options()
		opts.AutoPipelineOptions = &redis.AutoPipelineOptions{FullDuplex: full}
		rdb := redis.NewClient(opts)
		rdb.AddHook(unguarded{proxycompat.Hook(proxycompat.Codis32())})
		auto, err := rdb.AutoPipeline()
		require.NoError(t, err)
		require.Equal(t, full, auto.Config().FullDuplex)

		require.ErrorIs(t, auto.RandomKey(background).Err(), rmw.ErrUnsupported)
		require.NoError(t, auto.Set(background, "k", "v", 0).Err(), "sent and answered after it")
		assert.Equal(t, full, p.Count()["RANDOMKEY"] == 1, p.Count())

		require.NoError(t, auto.Close())
		require.NoError(t, rdb.Close())
		require.NoError(t, p.Close())
	}
}
