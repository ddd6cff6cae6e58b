package lockupdate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// The release is sent after the commit, even if the caller has left.
func TestReleaseComesAfterAnAbandonedCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		f.proxy.Inject(proxytest.Fault{Match: isScript("commit_string"), Action: proxytest.Delay, Delay: 2 * time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := f.store.Update(ctx, key, appendText("x"))
		require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
		f.waitReleases()
		assert.Equal(t, []string{"acquire", "read", "commit_string", "release"}, f.calls())
		assert.Equal(t, "wwwx", f.text(key))
	})
}

// The release is sent after a renewal in flight, which would otherwise find no lock, or prolong it.
func TestReleaseComesAfterARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Lease: 10 * time.Second})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Action: proxytest.Delay, Delay: 2 * time.Second})
		_, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			time.Sleep(6 * time.Second) // the renewal went out at 5 s
			return appendText("x")(ctx, cur)
		})
		require.NoError(t, err)
		f.waitReleases()
		names := f.calls()
		assert.Equal(t, "release", names[len(names)-1], names)
		assert.Contains(t, names, "renew")
	})
}
