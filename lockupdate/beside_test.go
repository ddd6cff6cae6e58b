package lockupdate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

// jitter draws durations, and delays each flush of a client by a round trip.
type jitter struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func (j *jitter) about(d time.Duration, spread float64) time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	return time.Duration(float64(d) * (1 + spread*(2*j.rng.Float64()-1)))
}

func (j *jitter) halfTrip() { time.Sleep(j.about(100*time.Microsecond, 0.5)) }

func (j *jitter) delay(_ context.Context, _ []redis.Cmder, next func() error) error {
	j.halfTrip()
	defer j.halfTrip()
	return next()
}

// neighbours is processes with a lockupdate.Store, and as many with WATCH, that update one
// key in a closed loop. Each fn takes 20 ms.
type neighbours struct {
	cfg                   lockupdate.Config
	kind                  rmw.Kind
	processes, goroutines int
	hooks                 []redis.Hook // of the processes with a lockupdate.Store
}

// run returns the share of the updates that the lockupdate.Stores made.
func (n neighbours) run(t *testing.T) float64 {
	t.Helper()
	const lasting, fn = 4 * time.Second, 20 * time.Millisecond
	f := newFixtureOn(t, proxycompat.Redis(), lockupdate.Config{})
	key := rmw.Key{Name: "k", Kind: n.kind}
	j := &jitter{rng: rand.New(rand.NewPCG(1, 2))}
	f.hooks = slices.Concat(n.hooks, []redis.Hook{hook(j.delay)})
	var wg sync.WaitGroup
	end := time.Now().Add(lasting)
	loop := func(s rmw.Store, done *atomic.Int64) {
		for range n.goroutines {
			wg.Go(func() {
				time.Sleep(j.about(fn/2, 1))
				for time.Now().Before(end) {
					_, err := s.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
						time.Sleep(j.about(fn, 0.02))
						if n.kind == rmw.KindHash {
							return cur.With("n", strconv.FormatInt(time.Now().UnixNano(), 10)), nil
						}
						return rmw.String(strconv.FormatInt(time.Now().UnixNano(), 10)), nil
					})
					assert.NoError(t, err)
					done.Add(1)
				}
			})
		}
	}
	var locked, watched atomic.Int64
	n.cfg.MaxAttempts = 10_000
	for range n.processes {
		loop(f.another(n.cfg), &locked)
		rdb := f.direct()
		rdb.AddHook(hook(j.delay))
		legacy := cas.New(rdb, cas.Config{MaxAttempts: 10_000, Backoff: rmw.Backoff{Base: 1, Max: 1}})
		t.Cleanup(func() { require.NoError(t, legacy.Close()) })
		loop(legacy, &watched)
	}
	wg.Wait()
	share := float64(locked.Load()) / float64(locked.Load()+watched.Load())
	t.Logf("%d with the lock, %d with WATCH: %.0f %%", locked.Load(), watched.Load(), 100*share)
	return share
}

// A key that old processes update by WATCH and new ones by lockupdate starves neither.
func TestShareBesideWatch(t *testing.T) {
	long.Repeats(t)
	for _, n := range []neighbours{
		{processes: 4, goroutines: 1},
		{processes: 4, goroutines: 1, cfg: onDemand},
		{processes: 4, goroutines: 1, kind: rmw.KindHash},
		{processes: 2, goroutines: 4},
		{processes: 2, goroutines: 4, cfg: onDemand},
	} {
		bubble(t, fmt.Sprintf("%dx%d %v on demand %v", n.processes, n.goroutines, n.kind, n.cfg.LockOnDemand), func(t *testing.T) {
			share := n.run(t)
			assert.GreaterOrEqual(t, share, 0.3)
			assert.LessOrEqual(t, share, 0.95)
		})
	}
}

// unbroken has a refused commit leave the transactions of others alone.
func unbroken(cmd redis.Cmder) {
	if name := lockupdate.ScriptName(argsOf(cmd)); name == "commit_string" {
		cmd.Args()[0], cmd.Args()[1] = "eval", strings.Replace(lockupdate.Scripts()[name], "ttl == -1", "false", 1)
	}
}

// The control of TestShareBesideWatch: as fns are about equally long, a commit that was
// refused once comes after a WATCH writer's for ever.
func TestStarvedBesideUnbrokenWatch(t *testing.T) {
	long.Repeats(t)
	synctest.Test(t, func(t *testing.T) {
		share := neighbours{processes: 4, goroutines: 1, hooks: []redis.Hook{before(unbroken)}}.run(t)
		assert.Less(t, share, 0.2)
	})
}

// A refused commit breaks the transactions that watch the key, and changes neither the
// value nor its expiry.
func TestRefusedCommitBreaksWatch(t *testing.T) {
	for _, ttl := range []time.Duration{-1, time.Millisecond, time.Minute} {
		for _, key := range []rmw.Key{testKey, hashKey} {
			bubble(t, fmt.Sprint(key.Kind, ttl), func(t *testing.T) {
				f := newFixtureOn(t, proxycompat.Redis(), lockupdate.Config{})
				ctx, rdb := t.Context(), f.direct()
				legacy := rdb.Conn()
				defer func() { require.NoError(t, legacy.Close()) }()
				exec := func() error {
					require.NoError(t, legacy.Do(ctx, "MULTI").Err())
					require.NoError(t, legacy.Do(ctx, "ECHO", "x").Err())
					return legacy.Do(ctx, "EXEC").Err()
				}
				with := func(cur rmw.Value, text string) rmw.Value {
					if key.Kind == rmw.KindHash {
						return cur.With("f", text)
					}
					return rmw.String(text)
				}
				foreign := func(text string) {
					store(t, rdb, key, with(rmw.Value{}, text))
					if ttl > 0 {
						require.NoError(t, rdb.PExpire(ctx, key.Name, ttl).Err())
					}
					require.NoError(t, legacy.Do(ctx, "WATCH", key.Name).Err())
				}
				calls := 0
				f.update(key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
					switch calls++; calls {
					case 1:
						foreign("1")
						require.NoError(t, exec(), "control: nothing has touched the key")
						foreign("2")
					case 2:
						assert.ErrorIs(t, exec(), redis.Nil)
						assert.True(t, f.value(key).Equal(with(rmw.Value{}, "2")))
						assert.Equal(t, ttl, rdb.PTTL(ctx, key.Name).Val())
					}
					return with(cur, "3"), nil
				})
				assert.Equal(t, 2, calls)
			})
		}
	}
}
