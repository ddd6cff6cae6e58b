package cas_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/meter"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

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

func newFixture(t *testing.T, cfg cas.Config) *fixture {
	t.Helper()
	return newFixtureOn(t, proxycompat.Redis(), cfg)
}

func newFixtureOn(t *testing.T, profile *proxycompat.Profile, cfg cas.Config) *fixture {
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
	var names []string
	for _, c := range f.proxy.Calls() {
		names = append(names, c.Command())
	}
	return names
}

// set is a write by somebody else.
func (f *fixture) set(key rmw.Key, text string) {
	require.NoError(f.t, f.other.Set(context.Background(), key.Name, text, 0).Err())
}

func (f *fixture) text(key rmw.Key) string {
	s, err := f.other.Get(context.Background(), key.Name).Result()
	if !errors.Is(err, redis.Nil) {
		require.NoError(f.t, err)
	}
	return s
}

// behindItsBack makes somebody else write during every call of fn.
func (f *fixture) behindItsBack(key rmw.Key, fn rmw.UpdateFunc) rmw.UpdateFunc {
	return func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		f.set(key, cur.Text()+"theirs,")
		return fn(ctx, cur)
	}
}

var errFull = errors.New("the room is full")

func appendText(s string) rmw.UpdateFunc {
	return func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return rmw.String(cur.Text() + s), nil }
}

func keep(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur, nil }

func abort(context.Context, rmw.Value) (rmw.Value, error) { return rmw.Value{}, errFull }

func set(v rmw.Value) rmw.UpdateFunc {
	return func(context.Context, rmw.Value) (rmw.Value, error) { return v, nil }
}
