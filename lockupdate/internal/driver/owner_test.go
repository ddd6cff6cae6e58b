package driver

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Owner ids are unique across processes and concurrent calls. The times in the ids of one process
// increase.
func TestOwnersAreUnique(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // all ids are made at one instant
		var mu sync.Mutex
		var wg sync.WaitGroup
		seen := map[string]bool{}
		later := time.Now().Add(time.Hour) // so that no age is 0
		for range 10 {
			ids := NewOwnerIDs()
			for range 10 {
				wg.Go(func() {
					last := int64(0)
					for range 100 {
						name := ids.Name(ids.Next())
						at := later.Add(-ageOf(name, later)).UnixMicro()
						assert.Greater(t, at, last)
						last = at
						mu.Lock()
						assert.False(t, seen[name], name)
						seen[name] = true
						mu.Unlock()
					}
				})
			}
		}
		wg.Wait()
		assert.Len(t, seen, 10*10*100)
	})
}

// An owner id begins with the mark that acquire.lua checks, and contains its time. Scripts and
// driver use the same hint field.
func TestOwnersCarryTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ids := NewOwnerIDs()
		first := ids.Name(ids.Next())
		time.Sleep(90*time.Second + 123*time.Microsecond)
		name := ids.Name(ids.Next())
		assert.Regexp(t, `^unwatch:[A-Za-z0-9_-]{22}:[0-9a-z]{10}$`, name)
		assert.Equal(t, storeOf(first), storeOf(name))
		assert.NotEqual(t, storeOf(first), storeOf(NewOwnerIDs().Name(1)))
		now := time.Now()
		assert.Equal(t, 90*time.Second+123*time.Microsecond, ageOf(first, now))
		assert.Zero(t, ageOf(name, now))
		assert.Equal(t, time.Second, ageOf(name, now.Add(time.Second)))
		assert.Contains(t, acquireScript.source, "string.sub(holder, 1, 8) == '"+ownerMark+"'")
		for _, source := range []string{acquireScript.source, renewScript.source, releaseScript.source} {
			assert.Contains(t, source, "'"+hintField+"'")
		}
	})
}

// FuzzOwner: only an id of this package has an age, and no age is negative.
func FuzzOwner(f *testing.F) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, seed := range []string{NewOwnerIDs().Name(1), "", ":", "unwatch:", "unwatch:a:1y2p0ij32e8e7", "unwatch:a:-1y2p0ij32e8e8",
		"unwatch:a:_", "0190163d-8694-739b-aea5-966c26f8ad91:1", strings.Repeat("7", 36) + ":1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, owner string) {
		age := ageOf(owner, now)
		require.GreaterOrEqual(t, age, time.Duration(0))
		if !strings.HasPrefix(owner, ownerMark) {
			require.Zero(t, age, "a foreign id has no age")
		}
		require.Equal(t, owner, storeOf(owner+":1"))
	})
}
