package lockupdate_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// A critical section reads no value, and has no kind. So it gets the lock although an Update ahead of it
// in the queue fails, because the value is of another type or cannot be read. The lock comes from
// an acquire, or from another call of the process.
func TestUnreadableValueFailsNoSection(t *testing.T) {
	for name, spoil := range map[string]func(f *fixture) error{
		"other type": func(f *fixture) error {
			f.putHash(testKey.Name, fields("f=v"), 0)
			return rmw.ErrWrongKind
		},
		"lost replies": func(f *fixture) error {
			f.proxy.Inject(proxytest.Fault{Match: isScript("read"), Times: -1, Action: proxytest.DropReply})
			return rmw.ErrUnavailable
		},
	} {
		for way, acquired := range map[string]bool{"acquired": true, "passed on": false} {
			bubbleWith(t, name+", "+way, lockupdate.Config{}, func(t *testing.T, f *fixture) {
				owner := f.store
				if acquired {
					owner = f.another(lockupdate.Config{})
				}
				held := f.hold(t.Context(), owner, testKey.Name)
				want := spoil(f)
				update := start(t.Context(), f.store, testKey, appendText("x"))
				section := startLocked(t.Context(), f.store, testKey.Name, nothing)
				require.NoError(t, held.Unlock())
				wait(update, section)
				require.ErrorIs(t, update.err, want)
				assert.NoError(t, section.err)
			})
		}
	}
}
