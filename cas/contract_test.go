package cas_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// The legacy path works wherever WATCH does, and is refused, with nothing written,
// wherever it does not.
func TestContract(t *testing.T) {
	for _, name := range append(proxycompat.Names(), "redis@3.2") {
		profile, err := proxycompat.Lookup(name)
		require.NoError(t, err)
		watches := profile.Check("WATCH", "k") == nil && profile.Check("MULTI") == nil
		t.Run(name, func(t *testing.T) {
			b := contract.Bench{
				Proxy: proxytest.Config{Profile: profile, InMemory: true, Engines: 2},
				Open:  func(rdb *redis.Client) rmw.Store { return cas.New(rdb, cas.Config{}) },
			}
			if profile.Server() {
				b.Proxy.Engines = 1
			}
			if name == "redis@3.2" { // the first write finds out that KEEPTTL is missing, and calls fn twice
				b.Open = func(rdb *redis.Client) rmw.Store {
					s := cas.New(rdb, cas.Config{})
					res, err := s.Update(context.Background(), rmw.Key{Name: "first"}, appendText("x"))
					require.NoError(t, err)
					require.Equal(t, 2, res.Attempts)
					return s
				}
			}
			if watches {
				b.RunFake(t)
				return
			}
			if profile.Rule("WATCH").Verdict == proxycompat.HarmsOthers { // it says OK, and protects nothing
				b.Open = func(rdb *redis.Client) rmw.Store {
					rdb.AddHook(proxycompat.Hook(profile))
					return cas.New(rdb, cas.Config{})
				}
			}
			synctest.Test(t, func(t *testing.T) {
				s := b.Target(t).Open()
				_, err := s.Update(t.Context(), rmw.Key{Name: "k"}, func(context.Context, rmw.Value) (rmw.Value, error) {
					return rmw.String("v"), nil
				})
				require.Error(t, err)
				v, err := s.Read(t.Context(), rmw.Key{Name: "k"})
				require.NoError(t, err)
				assert.False(t, v.Exists(), "written in spite of the error")
			})
		})
	}
}

// The two proxies refuse WATCH in their own ways. Codis says so. twemproxy closes
// the connection without a word, which could be anything, so it counts as not
// available; either way fn is not called and nothing is written.
func TestBehindAProxyThatRefusesWatch(t *testing.T) {
	for _, tc := range []struct {
		profile *proxycompat.Profile
		reason  error
		watches int
		retry   bool
	}{
		{proxycompat.Codis32(), rmw.ErrUnsupported, 1, false},
		{proxycompat.Twemproxy05(), rmw.ErrUnavailable, 3, true},
	} {
		t.Run(tc.profile.Name(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixtureOn(t, tc.profile, cas.Config{})
				key := rmw.Key{Name: "k"}
				f.set(key, "x")
				f.warm()
				res, err := f.store.Update(t.Context(), key, func(context.Context, rmw.Value) (rmw.Value, error) {
					t.Error("fn was called")
					return rmw.String("y"), nil
				})
				require.ErrorIs(t, err, tc.reason)
				require.NotErrorIs(t, err, rmw.ErrOutcomeUnknown)
				assert.Equal(t, tc.retry, rmw.Retryable(err))
				assert.Equal(t, rmw.Result{}, res)
				assert.Equal(t, tc.watches, f.proxy.Count()["WATCH"])
				assert.Equal(t, "x", f.text(key))

				v, err := f.store.Read(t.Context(), key)
				require.NoError(t, err, "reading needs no WATCH")
				assert.Equal(t, "x", v.Text())
			})
		})
	}
}
