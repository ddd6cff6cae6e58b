package lockupdate

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// No two acquisitions have the same name, in whichever process, and however many are
// named at once.
func TestOwnersAreUnique(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where all happens at one instant
		var mu sync.Mutex
		var wg sync.WaitGroup
		seen := map[string]bool{}
		for range 10 {
			o := newOwners()
			for range 10 {
				wg.Go(func() {
					last := int64(0)
					for range 100 {
						name := o.next()
						at := since(name, time.Time{}).UnixMicro()
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

// A name begins with the mark that acquire.lua looks for, and tells when the lock was taken.
func TestOwnersTellTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwners()
		first := o.next()
		time.Sleep(90*time.Second + 123*time.Microsecond)
		name := o.next()
		assert.Regexp(t, `^unwatch:[A-Za-z0-9_-]{22}:[0-9a-z]{10}$`, name)
		assert.Equal(t, processOf(first), processOf(name))
		assert.True(t, time.Now().Equal(since(name, time.Time{})))
		assert.Contains(t, acquireSource, "string.sub(holder, 1, 8) == '"+ownerMark+"'")
		for _, source := range []string{acquireSource, renewSource, releaseSource} {
			assert.Contains(t, source, "'"+noteField+"'")
		}
	})
}
