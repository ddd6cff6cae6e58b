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
	"github.com/unwatch/unwatch/internal/testing/unguarded"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// guardClauses are the clauses that must fail without the guard.
var guardClauses = map[string]bool{
	"guard": true, "guard-every-byte": true, "guard-delete": true, "large-value": true,
	"no-lost-update": true, "no-immortal-key": true, "hash-fields-survive": true,
}

// Negative control of the package: without the guard, exactly the clauses in guardClauses fail.
func TestGuardOff(t *testing.T) {
	long.Repeats(t)
	for name, cfg := range map[string]lockupdate.Config{"with the lock": {}, "on demand": onDemand} {
		b := newBench(proxycompat.Codis32(), cfg)
		open := b.Open
		b.Open = func(rdb *redis.Client) rmw.Store {
			rdb.AddHook(unguarded.Hook{})
			return open(rdb)
		}
		for _, clause := range rmwtest.Clauses() {
			bubble(t, name+"/"+clause.Name, func(t *testing.T) {
				err := clause.Check(t.Context(), b.Target(t))
				switch {
				case guardClauses[clause.Name]:
					assert.Error(t, err, "this clause passes without the guard")
				case !cfg.LockOnDemand: // with it, further clauses may fail
					assert.NoError(t, err)
				}
			})
		}
	}
}

// stalled delays some commits past the lease, and counts acknowledged and lost updates.
func stalled(t *testing.T, guard bool) (acked, lost int) {
	t.Helper()
	const lease = 100 * time.Millisecond
	delay := func(p *proxytest.Proxy, match func(args []string) bool) {
		p.Inject(proxytest.Fault{Match: match, Times: -1, Action: proxytest.Delay, Delay: 3 * lease})
	}
	acked, lost, _ = runWriters(t, proxytest.Config{Engines: 2}, []string{"s"}, 25, func(_ *testing.T, p *proxytest.Proxy) (end func()) {
		delay(p, isScript("renew")) // a stalled process sends no renewals either
		var nth atomic.Int64
		delay(p, func(args []string) bool { return isScript("commit_string")(args) && nth.Add(1)%5 == 0 })
		return func() {}
	}, func(rdb *redis.Client) rmw.Updater {
		if !guard {
			rdb.AddHook(unguarded.Hook{})
		}
		return opener(t, lockupdate.Config{Lease: lease})(rdb)
	})
	return acked, lost
}

// A commit that arrives after its lease finds the value of another holder. The guard refuses it.
// Without the guard, the other update is lost.
func TestStallsPastTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acked, lost := stalled(t, true)
		assert.Positive(t, acked)
		assert.Zero(t, lost)
	})
	synctest.Test(t, func(t *testing.T) {
		acked, lost := stalled(t, false)
		assert.Positive(t, lost, "control: of %d updates without the guard none was lost, so this test proves nothing", acked)
	})
}

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
