package proxycompat_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// policy is a hook that refuses RANDOMKEY, without a check at the connection.
type policy struct{}

var errPolicy = errors.New("refused by the policy")

func (policy) DialHook(next redis.DialHook) redis.DialHook { return next }

func (policy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "randomkey" {
			return errPolicy
		}
		return next(ctx, cmd)
	}
}

func (policy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() == "randomkey" {
			return errPolicy
		}
		return next(ctx, cmds)
	}
}

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
		rdb.AddHook(policy{})
		auto, err := rdb.AutoPipeline()
		require.NoError(t, err)
		require.Equal(t, full, auto.Config().FullDuplex)

		require.ErrorIs(t, auto.RandomKey(background).Err(), errPolicy)
		require.NoError(t, auto.Set(background, "k", "v", 0).Err(), "sent and answered after it")
		assert.Equal(t, full, p.Count()["RANDOMKEY"] == 1, p.Count())

		require.NoError(t, auto.Close())
		require.NoError(t, rdb.Close())
		require.NoError(t, p.Close())
	}
}
