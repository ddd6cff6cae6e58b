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

// The release is the last command of an update to be sent: it comes after a commit
// that the caller no longer waits for, …
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

// … and after a renewal that is still under way, which would otherwise find the
// lock gone, or prolong it once more.
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
