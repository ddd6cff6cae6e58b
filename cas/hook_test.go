package cas_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/rmw"
)

// panicky is a hook with a bug that one command shows.
type panicky struct{ command string }

func (panicky) DialHook(next redis.DialHook) redis.DialHook { return next }

func (p panicky) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		p.look(cmd)
		return next(ctx, cmd)
	}
}

func (p panicky) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			p.look(cmd)
		}
		return next(ctx, cmds)
	}
}

func (p panicky) look(cmd redis.Cmder) {
	if cmd.Name() == p.command {
		panic("a hook's bug at " + p.command)
	}
}

// The commands run on a goroutine of their own, where a panic would end the whole
// process, whatever the caller defers.
func TestAHooksPanicIsTheCallers(t *testing.T) {
	for _, command := range []string{"watch", "get", "multi", "set", "exec"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, cas.Config{})
			key := rmw.Key{Name: "k"}
			f.set(key, "x")
			f.rdb.AddHook(panicky{command})
			assert.PanicsWithValue(t, "a hook's bug at "+command, func() {
				_, _ = f.store.Update(t.Context(), key, appendText("y"))
			})
			assert.Equal(t, "x", f.text(key))
			require.NoError(t, f.store.Close(), "nothing is left running")
		})
	}
}

// odd is a client whose Watch does something else.
type odd struct {
	redis.UniversalClient
	watch func() error
}

func (o odd) Watch(context.Context, func(*redis.Tx) error, ...string) error { return o.watch() }

// go-redis' ClusterClient gives up redirects that way: no error, no call.
func TestWatchThatNeverCalls(t *testing.T) {
	s := cas.New(odd{watch: func() error { return nil }}, cas.Config{})
	_, err := s.Update(context.Background(), rmw.Key{Name: "k"}, appendText("x"))
	require.ErrorIs(t, err, rmw.ErrUnavailable)
	require.NoError(t, s.Close())
}
