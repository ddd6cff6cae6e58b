package lockupdate_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
)

// granting answers commands without a server. It refuses each lock some times, then grants it.
type granting struct {
	refusals int
	mu       sync.Mutex
	asked    map[any]int
}

func (h *granting) flush(_ context.Context, cmds []redis.Cmder, _ func() error) error {
	for _, cmd := range cmds {
		h.answer(cmd)
	}
	return nil
}

func (h *granting) answer(cmd redis.Cmder) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var answer any = int64(1)
	if name := cmd.Args()[3]; h.asked[name] < h.refusals {
		h.asked[name]++
		answer = []any{int64(0), int64(1)}
	} else {
		delete(h.asked, name)
	}
	cmd.(interface{ SetVal(val any) }).SetVal(answer)
}

// liveBytes returns the size of the live objects on the heap.
func liveBytes() int64 {
	synctest.Wait()
	runtime.GC()
	runtime.GC() // empties the pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The memory of a held lock is bounded, since services hold 100,000. It includes the lock name and
// the map entry, not the key, and does not grow by a wait.
func TestMemoryOfAHeldLock(t *testing.T) {
	const (
		few, many = 1000, 5000
		limit     = 450
	)
	for name, refusals := range map[string]int{"free": 0, "after a wait": 2} {
		bubble(t, name, func(t *testing.T) {
			rdb := redis.NewClient(proxycompat.Options(proxycompat.Codis32(), "nowhere:1"))
			rdb.AddHook(hook((&granting{refusals: refusals, asked: map[any]int{}}).flush))
			store := lockupdate.New(rdb, lockupdate.Config{Lease: time.Hour, MaxHold: 2 * time.Hour})
			names := make([]string, many)
			for i := range names {
				names[i] = fmt.Sprintf("room:%07d", i)
			}
			locks := make([]locking.Hold, 0, many)
			hold := func(n int) {
				for _, name := range names[len(locks):n] {
					l, err := store.Lock(t.Context(), name)
					require.NoError(t, err)
					locks = append(locks, l)
				}
			}
			hold(few)
			before := liveBytes()
			hold(many)
			each := (liveBytes() - before) / (many - few)
			t.Logf("%d bytes a lock", each)
			assert.LessOrEqual(t, each, int64(limit))
			for _, l := range locks {
				require.NoError(t, l.Unlock())
			}
			require.NoError(t, store.Close())
			require.NoError(t, rdb.Close())
		})
	}
}
