package lockupdate_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/meter"
	"github.com/unwatch/unwatch/internal/testing/unguarded"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// testKey and hashKey are the keys of most tests.
var testKey, hashKey = rmw.Key{Name: "s"}, rmw.Key{Name: "h", Kind: rmw.KindHash}

// fixture is a Store behind an in-process proxy, with a metered connection. Make it inside the
// synctest bubble, if there is one.
type fixture struct {
	t     *testing.T
	proxy *proxytest.Proxy
	meter *meter.Meter
	opts  *redis.Options
	rdb   *redis.Client
	store *lockupdate.Store
	hooks []redis.Hook // for the client of each process
}

func newFixture(t *testing.T, cfg lockupdate.Config) *fixture {
	return newFixtureOn(t, proxycompat.Codis32(), cfg)
}

func newFixtureOn(t *testing.T, profile *proxycompat.Profile, cfg lockupdate.Config) *fixture {
	t.Helper()
	engines := 2
	if profile.Server() {
		engines = 1
	}
	return newFixtureBehind(t, proxytest.Config{Profile: profile, Engines: engines}, cfg)
}

// newFixtureBehind returns a fixture behind a configured proxy.
func newFixtureBehind(t *testing.T, proxy proxytest.Config, cfg lockupdate.Config) *fixture {
	t.Helper()
	proxy.InMemory = true
	for _, s := range nativeStores {
		if s.commit == cfg.Commit {
			proxy.Store = s.store
		}
	}
	p, err := proxytest.Start(proxy)
	require.NoError(t, err)
	f := &fixture{t: t, proxy: p, meter: &meter.Meter{}, opts: p.Options()}
	f.opts.Dialer = f.meter.Dialer(f.opts.Dialer)
	f.rdb = redis.NewClient(f.opts)
	f.store = lockupdate.New(f.rdb, cfg)
	t.Cleanup(func() {
		require.NoError(t, f.store.Close())
		require.NoError(t, f.rdb.Close())
		require.NoError(t, p.Close())
	})
	return f
}

// bubble runs a subtest in a synctest bubble.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// bubbleWith runs a subtest in a synctest bubble, with a fixture.
func bubbleWith(t *testing.T, name string, cfg lockupdate.Config, test func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { withFixture(t, cfg, test) })
}

// bubbleWithKey is bubbleWith, with a fixture that has updated key.
func bubbleWithKey(t *testing.T, name string, cfg lockupdate.Config, test func(t *testing.T, f *fixture, key rmw.Key)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { withKey(t, cfg, test) })
}

// withFixture runs a test in a synctest bubble, with a fixture.
func withFixture(t *testing.T, cfg lockupdate.Config, test func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newFixture(t, cfg)) })
}

// withKey is withFixture, with a fixture that has updated key.
func withKey(t *testing.T, cfg lockupdate.Config, test func(t *testing.T, f *fixture, key rmw.Key)) {
	t.Helper()
	withFixture(t, cfg, func(t *testing.T, f *fixture) { test(t, f, f.warmKey()) })
}

// another returns the Store of another process.
func (f *fixture) another(cfg lockupdate.Config) *lockupdate.Store {
	return f.open(f.proxy.Options(), cfg, f.hooks...)
}

// open returns a Store with a client of its own.
func (f *fixture) open(opts *redis.Options, cfg lockupdate.Config, hooks ...redis.Hook) *lockupdate.Store {
	rdb := redis.NewClient(opts)
	for _, h := range hooks {
		rdb.AddHook(h)
	}
	s := lockupdate.New(rdb, cfg)
	f.t.Cleanup(func() {
		require.NoError(f.t, s.Close())
		require.NoError(f.t, rdb.Close())
	})
	return s
}

// unguard removes the guard from the commits of all processes, for a negative control.
func (f *fixture) unguard() {
	f.hooks = append(f.hooks, unguarded.Hook{})
	f.rdb.AddHook(unguarded.Hook{})
}

// update makes an Update that must succeed.
func (f *fixture) update(key rmw.Key, fn rmw.UpdateFunc) rmw.Result {
	f.t.Helper()
	res, err := f.store.Update(f.t.Context(), key, fn)
	require.NoError(f.t, err)
	return res
}

// warm opens the connections and fills the script caches, so that later commands can be counted
// exactly.
func (f *fixture) warm(keys ...rmw.Key) {
	for _, key := range keys {
		for range 3 {
			f.update(key, appendText("w"))
		}
		f.value(key) // go-redis has other connections for a command that is sent alone
	}
	f.settle()
}

// warmKey warms a key, and returns it.
func (f *fixture) warmKey() rmw.Key {
	f.warm(testKey)
	return testKey
}

// settle waits until no release is in flight, and resets the recorded calls.
func (f *fixture) settle() {
	lockupdate.Settle(f.store)
	f.proxy.ResetCalls()
}

// calls returns the names of the scripts and commands that the proxy received.
func (f *fixture) calls() []string {
	var names []string
	for _, c := range f.proxy.Calls() {
		names = append(names, lockupdate.ScriptName(c.Args))
	}
	return names
}

// requests returns the names of the received commands for any Commit.
func (f *fixture) requests() []string {
	var names []string
	for _, c := range f.proxy.Calls() {
		names = append(names, lockupdate.RequestName(c.Args))
	}
	return names
}

func appendText(s string) rmw.UpdateFunc {
	return func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return rmw.String(cur.Text() + s), nil }
}

// value reads a key, which must succeed.
func (f *fixture) value(key rmw.Key) rmw.Value {
	f.t.Helper()
	v, err := f.store.Read(f.t.Context(), key)
	require.NoError(f.t, err)
	return v
}

func (f *fixture) text(key rmw.Key) string { return f.value(key).Text() }

// isRequest is isScript for any Commit.
func isRequest(name string) func(args []string) bool {
	return func(args []string) bool { return lockupdate.RequestName(args) == name }
}

func isScript(name string) func(args []string) bool {
	return func(args []string) bool {
		return strings.HasPrefix(strings.ToLower(args[0]), "eval") && lockupdate.ScriptName(args) == name
	}
}

// The client logs every failed dial, and these tests cause thousands.
func TestMain(m *testing.M) {
	logging.Disable()
	m.Run()
}
