package lockupdate_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
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
		loop := closedLoop{
			goroutines: []int{4, 4}, work: 20 * time.Millisecond, latency: time.Millisecond, duration: 10 * time.Second,
			hooks: []redis.Hook{before(eraseHint)},
		}
		done, _ := loop.run(t)
		t.Log(done)
		assert.Less(t, float64(slices.Min(done))/float64(slices.Max(done)), 0.3, done)
	})
}
