package cutover_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// Code that knows nothing of a cut-over updates the old store beside movers. Each update is
// acknowledged and kept, or refused.
func TestOldCodeIsRefusedOrRight(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		refused, acked := 0, []string{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for worker := range 2 {
			p := r.open(flips{})
			wg.Go(func() {
				for i := range 100 {
					id := fmt.Sprintf("mover%d-%d", worker, i)
					_, err := p.Update(t.Context(), room, add(id))
					require.NoError(t, err)
					mu.Lock()
					acked = append(acked, id)
					mu.Unlock()
				}
			})
		}
		client := func() *redis.Client {
			rdb := redis.NewClient(r.proxies[0].Options())
			rdb.AddHook(network{})
			t.Cleanup(func() { _ = rdb.Close() })
			return rdb
		}
		raw, viaCAS, viaLock := client(), cas.New(client(), cas.Config{}), lockupdate.New(client(), lockupdate.Config{})
		t.Cleanup(func() { _, _ = viaCAS.Close(), viaLock.Close() })
		stores := map[string]func(id string) error{
			"cas":        func(id string) error { _, err := viaCAS.Update(t.Context(), room, add(id)); return err },
			"lockupdate": func(id string) error { _, err := viaLock.Update(t.Context(), room, add(id)); return err },
			"watch": func(id string) error {
				for {
					err := raw.Watch(t.Context(), func(tx *redis.Tx) error {
						text, err := tx.Get(t.Context(), room.Name).Result()
						if err != nil && !errors.Is(err, redis.Nil) {
							return err
						}
						_, err = tx.TxPipelined(t.Context(), func(pipe redis.Pipeliner) error {
							return pipe.Set(t.Context(), room.Name, text+id+",", 0).Err()
						})
						return err
					}, room.Name)
					if !errors.Is(err, redis.TxFailedErr) {
						return err
					}
				}
			},
		}
		for name, update := range stores {
			wg.Go(func() {
				for i := range 100 {
					id := fmt.Sprintf("%s-%d", name, i)
					err := update(id)
					mu.Lock()
					switch {
					case err == nil:
						acked = append(acked, id)
					case errors.Is(err, rmw.ErrWrongKind), strings.HasPrefix(err.Error(), "WRONGTYPE"):
						refused++
					default:
						t.Errorf("%s: %v", id, err)
					}
					mu.Unlock()
					sleep(time.Millisecond)
				}
			})
		}
		wg.Wait()
		v, err := r.direct().Read(t.Context(), room)
		require.NoError(t, err)
		stored := strings.Split(strings.TrimSuffix(v.Text(), ","), ",")
		assert.ElementsMatch(t, acked, stored)
		assert.Positive(t, refused)
		assert.Greater(t, len(acked), 200+20, "old code was acknowledged, too")
	})
}
