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

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
)

// agreeable is a hook that sends nothing: it grants every lock, after having refused it
// for so many times.
type agreeable struct {
	refusals int
	mu       sync.Mutex
	asked    map[any]int
}

func (*agreeable) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *agreeable) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		h.answer(cmd)
		return nil
	}
}

func (h *agreeable) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			h.answer(cmd)
		}
		return nil
	}
}

func (h *agreeable) answer(cmd redis.Cmder) {
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

// heap is the bytes of the objects that are alive.
func heap() int64 {
	synctest.Wait()
	runtime.GC()
	runtime.GC() // what the first has left in a pool
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What a lock costs the process that holds it, its name in the map included and its key
// not, is bounded: services hold a hundred thousand. It is the same after a wait.
func TestMemoryOfAHeldLock(t *testing.T) {
	const (
		few, many = 1000, 5000
		limit     = 900
	)
	for name, refusals := range map[string]int{"free": 0, "after a wait": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rdb := redis.NewClient(proxycompat.Options(proxycompat.Codis32(), "nowhere:1"))
				rdb.AddHook(&agreeable{refusals: refusals, asked: map[any]int{}})
				store := lockupdate.New(rdb, lockupdate.Config{Lease: time.Hour, MaxHold: 2 * time.Hour})
				names := make([]string, many)
				for i := range names {
					names[i] = fmt.Sprintf("room:%07d", i)
				}
				locks := make([]*lockupdate.Lock, 0, many)
				hold := func(n int) {
					for _, name := range names[len(locks):n] {
						l, err := store.Lock(t.Context(), name)
						require.NoError(t, err)
						locks = append(locks, l)
					}
				}
				hold(few)
				before := heap()
				hold(many)
				each := (heap() - before) / (many - few)
				t.Logf("%d bytes a lock", each)
				assert.LessOrEqual(t, each, int64(limit))
				for _, l := range locks {
					require.NoError(t, l.Unlock())
				}
				require.NoError(t, store.Close())
				require.NoError(t, rdb.Close())
			})
		})
	}
}
