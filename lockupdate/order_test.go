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
