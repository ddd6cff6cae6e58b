package cas_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/rmw"
)

// hook is called before each command of a client. A command that it returns an error for is not sent.
type hook func(ctx context.Context, cmd redis.Cmder) error

func (hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := h(ctx, cmd); err != nil {
			return err
		}
		return next(ctx, cmd)
	}
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			if err := h(ctx, cmd); err != nil {
				return err
			}
		}
		return next(ctx, cmds)
	}
}

// The commands run on a goroutine of their own, where a panic would end the whole
// process, whatever the caller defers.
func TestAHooksPanicIsTheCallers(t *testing.T) {
	for _, command := range []string{"watch", "get", "multi", "set", "exec"} {
		t.Run(command, withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
			f.set("x")
			f.rdb.AddHook(hook(func(_ context.Context, cmd redis.Cmder) error {
				if cmd.Name() == command {
					panic("a hook's bug at " + command)
				}
				return nil
			}))
			assert.PanicsWithValue(t, "a hook's bug at "+command, func() {
				_, _ = f.store.Update(t.Context(), key, appendText("y"))
			})
			assert.Equal(t, "x", f.text())
			require.NoError(t, f.store.Close(), "nothing is left running")
		}))
	}
}

// uncalled is a client whose Watch gives up without an error, and without a call, as that of go-redis'
// ClusterClient does after too many redirects.
type uncalled struct{ redis.UniversalClient }

func (uncalled) Watch(context.Context, func(*redis.Tx) error, ...string) error { return nil }

func TestWatchThatNeverCalls(t *testing.T) {
	s := cas.New(uncalled{}, cas.Config{})
	_, err := s.Update(t.Context(), key, mustNotRun(t))
	require.ErrorIs(t, err, rmw.ErrUnavailable)
	require.NoError(t, s.Close())
}
