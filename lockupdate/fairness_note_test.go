package lockupdate_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// A note that asks for more than anybody can need, or for nothing readable, does not
// keep a process away from its lock.
func TestNotesAreNotBelieved(t *testing.T) {
	for _, note := range []string{"3600000", "1e300", "-7", "x", ""} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, lockupdate.Config{})
			key := rmw.Key{Name: "s"}
			f.warm(key)
			_, err := f.store.Update(t.Context(), key, behindItsBack(func() {
				require.NoError(t, f.direct().HSet(t.Context(), lock+key.Name, "?", note).Err())
			}, appendText("1")))
			require.NoError(t, err)
			f.waitReleases()
			began := time.Now()
			_, err = f.store.Update(t.Context(), key, appendText("2"))
			require.NoError(t, err)
			assert.Less(t, time.Since(began), 80*time.Millisecond, note)
			assert.Equal(t, "www12", f.text(key))
		})
	}
}
