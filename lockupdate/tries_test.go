package lockupdate_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// If no command gets a reply, each kind is sent as often as the last table in docs/errors.md says.
func TestTries(t *testing.T) {
	for script, want := range map[string]int{
		"acquire": 3, "read": 3, "commit_string": 1, "release": 3,
		"renew": 7, // at half the lease, then each sixteenth up to nine tenths
	} {
		bubble(t, script, func(t *testing.T) {
			f, key := warmFixture(t, lockupdate.Config{Lease: 10 * time.Second})
			fault := proxytest.Fault{
				Match: isScript(script), Times: -1,
				Action: proxytest.RefuseWith, Text: "ERR handle response, backend conn reset",
			}
			remove := f.proxy.Inject(fault)
			if script == "read" { // a read in the flush of an acquire is sent once more
				_, _ = f.store.Read(t.Context(), key)
			} else {
				_, _ = f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					if script == "renew" {
						<-ctx.Done()
					}
					return appendText("x")(ctx, cur)
				})
			}
			f.waitReleases()
			remove()
			assert.Equal(t, want, f.sent()[script])
		})
	}
}

// A commit with more fields than a server accepts in one command fails before it is sent. Sent, its
// outcome would be unknown.
func TestTooManyFields(t *testing.T) {
	long.Repeats(t)
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		fields := make(map[string]string, 500_000)
		for i := range 500_000 {
			fields[strconv.Itoa(i)] = ""
		}
		key := rmw.Key{Name: "h", Kind: rmw.KindHash}
		_, err := f.store.Update(t.Context(), key, func(context.Context, rmw.Value) (rmw.Value, error) {
			return rmw.Hash(fields), nil
		})
		require.ErrorIs(t, err, rmw.ErrInvalid)
		require.ErrorContains(t, err, "split the key")
		f.waitReleases()
		assert.NotContains(t, f.calls(), "commit_hash")
	})
}
