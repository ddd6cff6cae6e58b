package lockupdate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/lease"
)

// FuzzDefaultLockName: no key is its own lock, and locks and their companion keys have no lock.
func FuzzDefaultLockName(f *testing.F) {
	for _, seed := range []string{driver.NewOwnerIDs().Name(1), "", ":", "unwatch:", "unwatch:a:1y2p0ij32e8e7", "unwatch:a:-1y2p0ij32e8e8",
		"unwatch:a:_", "0190163d-8694-739b-aea5-966c26f8ad91:1", strings.Repeat("7", 36) + ":1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) {
		name := defaultLockName(key)
		require.NotEqual(t, key, name)
		if name != "" {
			require.Empty(t, defaultLockName(name), "a lock has no lock")
			require.Empty(t, defaultLockName(lease.FencePrefix+name))
			require.Empty(t, defaultLockName(driver.HintPrefix+name))
		}
	})
}
