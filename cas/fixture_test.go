package cas_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/meter"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// The client logs every failed dial, and these tests fail thousands.
func TestMain(m *testing.M) {
	logging.Disable()
	m.Run()
}

// key is the one that most tests update.
var key = rmw.Key{Name: "k"}

// fixture is a Store in front of an in-process server, with its wire metered. It
// must be made inside the synctest bubble, if there is one.
type fixture struct {
	t     *testing.T
	proxy *proxytest.Proxy
	meter *meter.Meter
	rdb   *redis.Client
	store *cas.Store
	other *redis.Client // somebody else
}

// poolSize is above what any test needs at once: to wait for a connection, go-redis
// takes a timer that other bubbles may have used.
const poolSize = 4

// withFixture returns a test on fake time in front of plain Redis.
func withFixture(cfg cas.Config, test func(t *testing.T, f *fixture)) func(t *testing.T) {
	return withFixtureOn(proxycompat.Redis(), cfg, test)
}

func withFixtureOn(profile *proxycompat.Profile, cfg cas.Config, test func(t *testing.T, f *fixture)) func(t *testing.T) {
	return func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, newFixture(t, profile, cfg)) })
	}
}

func newFixture(t *testing.T, profile *proxycompat.Profile, cfg cas.Config) *fixture {
	t.Helper()
	p, err := proxytest.Start(proxytest.Config{Profile: profile, InMemory: true})
	require.NoError(t, err)
	f := &fixture{t: t, proxy: p, meter: &meter.Meter{}, other: redis.NewClient(p.Options())}
	opts := p.Options()
	opts.PoolSize = poolSize
	opts.Dialer = f.meter.Dialer(opts.Dialer)
	f.rdb = redis.NewClient(opts)
	f.store = cas.New(f.rdb, cfg)
	t.Cleanup(func() {
		require.NoError(t, f.store.Close())
		require.NoError(t, f.rdb.Close())
		require.NoError(t, f.other.Close())
		require.NoError(t, p.Close())
	})
	return f
}

// warm opens the connections, so that what follows can be counted exactly.
func (f *fixture) warm() {
	require.NoError(f.t, f.rdb.Ping(f.t.Context()).Err())
	require.NoError(f.t, f.other.Ping(f.t.Context()).Err())
	f.proxy.ResetCalls()
}

// commands returns the names of what the proxy was sent since warm.
func (f *fixture) commands() []string {
	names := []string{}
	for _, c := range f.proxy.Calls() {
		names = append(names, c.Command())
	}
	return names
}

// set is a write by somebody else.
func (f *fixture) set(text string) {
	require.NoError(f.t, f.other.Set(context.Background(), key.Name, text, 0).Err())
}

// text returns the stored text of the key.
func (f *fixture) text() string {
	s, err := f.other.Get(context.Background(), key.Name).Result()
	if !errors.Is(err, redis.Nil) {
		require.NoError(f.t, err)
	}
	return s
}

// behindItsBack makes somebody else write during every call of fn.
func (f *fixture) behindItsBack(fn rmw.UpdateFunc) rmw.UpdateFunc {
	return func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		f.set(cur.Text() + "theirs,")
		return fn(ctx, cur)
	}
}

var errFull = errors.New("the room is full")

func appendText(s string) rmw.UpdateFunc {
	return func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return rmw.String(cur.Text() + s), nil }
}

func keep(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur, nil }

func abort(context.Context, rmw.Value) (rmw.Value, error) { return rmw.Value{}, errFull }

// mustNotRun is for an Update that is refused before.
func mustNotRun(t *testing.T) rmw.UpdateFunc {
	return func(context.Context, rmw.Value) (rmw.Value, error) {
		t.Error("fn was called")
		return rmw.Value{}, nil
	}
}

// callAll returns the errors of a Read, a Peek and an Update, which must not get to call fn.
func callAll(t *testing.T, s *cas.Store) [3]error {
	t.Helper()
	_, read := s.Read(t.Context(), key)
	_, _, peek := s.Peek(t.Context(), key)
	_, update := s.Update(t.Context(), key, mustNotRun(t))
	return [3]error{read, peek, update}
}

func set(v rmw.Value) rmw.UpdateFunc {
	return func(context.Context, rmw.Value) (rmw.Value, error) { return v, nil }
}

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
