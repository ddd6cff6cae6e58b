package integration

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/internal/testing/unguarded"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

// fleet runs 4 WATCH writers and 4 lock writers, each a separate process, on 2 keys of one redis-server,
// and returns the number of lost acknowledged updates.
func fleet(t *testing.T, addr string, guard bool) (acked, lost int) {
	t.Helper()
	const pairs, each, keys = 4, 100, 2
	key := func(i int) rmw.Key { return rmw.Key{Name: fmt.Sprintf("fleet:%t:%d", guard, i%keys)} }
	var mu sync.Mutex
	ids := map[string]rmw.Key{}
	var wg sync.WaitGroup
	write := func(name string, s rmw.Store) {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("%s-%d,", name, i)
				_, err := s.Update(t.Context(), key(i), func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
					return rmw.String(cur.Text() + id), nil
				})
				if !assert.NoError(t, err, name) {
					return
				}
				mu.Lock()
				ids[id] = key(i)
				mu.Unlock()
			}
		})
	}
	for i := range pairs {
		legacy := cas.New(client(t, addr), cas.Config{MaxAttempts: 1000})
		t.Cleanup(func() { assert.NoError(t, legacy.Close()) })
		write(fmt.Sprint("watch", i), legacy)
		rdb := client(t, addr)
		if !guard {
			rdb.AddHook(unguarded.Hook{})
		}
		lock := lockupdate.New(rdb, lockupdate.Config{MaxAttempts: 1000})
		t.Cleanup(func() { assert.NoError(t, lock.Close()) })
		write(fmt.Sprint("lock", i), lock)
	}
	wg.Wait()
	reader := client(t, addr)
	for id, key := range ids {
		text, err := reader.Get(t.Context(), key.Name).Result()
		require.NoError(t, err)
		switch n := strings.Count(","+text, ","+id); n {
		case 0:
			lost++
		case 1:
		default:
			t.Errorf("%s was applied %d times", id, n)
		}
	}
	return len(ids), lost
}

func client(t testing.TB, addr string) *redis.Client {
	rdb := redis.NewClient(proxycompat.Options(proxycompat.Redis(), addr))
	t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
	return rdb
}

func TestMixedFleet(t *testing.T) {
	server := servers.Redis(t)
	began := time.Now()
	acked, lost := fleet(t, server.Addr, true)
	t.Logf("guarded: %d acknowledged, %d lost, in %v", acked, lost, time.Since(began).Round(time.Millisecond))
	assert.Equal(t, 800, acked)
	assert.Zero(t, lost)

	acked, lost = fleet(t, server.Addr, false)
	t.Logf("control, without the guard: %d acknowledged, %d lost", acked, lost)
	assert.Positive(t, lost, "control: without the guard nothing was lost, so this test proves nothing")
}
