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

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// eraseHint keeps waiters from setting a hint.
func eraseHint(cmd redis.Cmder) {
	if lockupdate.ScriptName(argsOf(cmd)) == "acquire" {
		cmd.Args()[6] = 0
	}
}

// Negative control of TestLongFairBetweenProcesses: without hints, one process holds the lock nearly
// all the time.
func TestUnfairWithoutHints(t *testing.T) {
	long.Repeats(t)
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
			rdb.AddHook(tap{before: eraseHint})
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
