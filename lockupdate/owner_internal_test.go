package lockupdate

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// No two acquisitions have the same name, in whichever process, and however many are
// named at once.
func TestOwnersAreUnique(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where all happens at one instant
		var mu sync.Mutex
		var wg sync.WaitGroup
		seen := map[string]bool{}
		for range 10 {
			o := newOwners(time.Now())
			for range 10 {
				wg.Go(func() {
					last := int64(0)
					for range 100 {
						name := o.next()
						_, digits, _ := strings.Cut(name, ":")
						seq, err := strconv.ParseInt(digits, 10, 64)
						assert.NoError(t, err)
						assert.Greater(t, seq, last)
						last = seq
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

// A name tells when its Store was made, and when the lock was taken; and it tells
// acquire.lua, at the place where that looks, that its holder reads notes.
func TestOwnersTellTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		born := time.Now()
		o := newOwners(born)
		time.Sleep(90*time.Second + 123*time.Microsecond)
		id, digits, ok := strings.Cut(o.next(), ":")
		require.True(t, ok)
		parsed, err := uuid.Parse(id)
		require.NoError(t, err)
		assert.EqualValues(t, 7, parsed.Version())
		assert.Equal(t, uuid.RFC4122, parsed.Variant())
		assert.Equal(t, "7", id[14:15])
		sec, nsec := parsed.Time().UnixTime()
		assert.Equal(t, born.UnixMilli(), time.Unix(sec, nsec).UnixMilli())
		assert.Equal(t, "90000123", digits)
	})
}
