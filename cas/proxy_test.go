package cas_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

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

// The check of package proxycompat refuses before anything is sent.
func TestTheProfileCheckRefusesWatchUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixtureOn(t, proxycompat.Twemproxy05(), cas.Config{})
		f.rdb.AddHook(proxycompat.Hook(proxycompat.Twemproxy05()))
		f.warm()
		_, err := f.store.Update(t.Context(), rmw.Key{Name: "k"}, appendText("x"))
		require.ErrorIs(t, err, rmw.ErrUnsupported)
		assert.Empty(t, f.commands())
	})
}
