package lockupdate_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
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
				require.NoError(t, f.direct().HSet(t.Context(), lock+key.Name, "unwatch-waiting", note).Err())
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

// eraseNote keeps waiters from leaving a note.
func eraseNote(cmd redis.Cmder) {
	if lockupdate.ScriptName(argsOf(cmd)) == "acquire" {
		cmd.Args()[6] = 0
	}
}

// The control of TestFairBetweenProcesses: without the note, one process has the lock
// nearly all the time.
func TestUnfairWithoutTheNote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		f.slow(time.Millisecond)
		done := make([]int, 2)
		var wg sync.WaitGroup
		var mu sync.Mutex
		end := time.Now().Add(10 * time.Second)
		for p := range done {
			rdb := redis.NewClient(f.proxy.Options())
			rdb.AddHook(tap{before: eraseNote})
			s := lockupdate.New(rdb, lockupdate.Config{})
			defer func() { assert.NoError(t, rdb.Close()) }()
			defer func() { assert.NoError(t, s.Close()) }()
			for range 4 {
				wg.Go(func() {
					for time.Now().Before(end) {
						_, err := s.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
							time.Sleep(20 * time.Millisecond)
							return rmw.String(fmt.Sprint(p, time.Now().UnixNano())), nil
						})
						assert.NoError(t, err)
						mu.Lock()
						done[p]++
						mu.Unlock()
					}
				})
			}
		}
		wg.Wait()
		t.Log(done)
		assert.Less(t, float64(slices.Min(done))/float64(slices.Max(done)), 0.3, done)
	})
}
