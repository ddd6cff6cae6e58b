package lockupdate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// onBad matches the commands for keys of one backend.
func onBad(args []string) bool { return strings.Contains(strings.Join(args, " "), "{bad}") }

// partialFaults are faults of one backend. The proxy answers in order, so that a reply that hangs holds
// back later ones of its connection.
var partialFaults = map[string]proxytest.Fault{
	"frozen, not executed": {Action: proxytest.HangRequest},
	"frozen, executed":     {Action: proxytest.HangReply},
	"slow":                 {Action: proxytest.DelayReply, Delay: 700 * time.Millisecond},
	"refused":              {Action: proxytest.RefuseWith, Text: "ERR handle response, backend conn reset"},
}

// While a backend hangs, the keys of another one keep nine tenths of their updates, and their locks.
func TestHungBackendLeavesOthersAlone(t *testing.T) {
	partialFault(t, lockupdate.Config{}, 10, "frozen, executed")
	partialFault(t, lockupdate.Config{LockOnDemand: true}, 10, "frozen, not executed")
}

func TestLongPartialFaults(t *testing.T) {
	long.Only(t)
	for _, cfg := range []lockupdate.Config{{}, {LockOnDemand: true}} {
		for _, pool := range []int{10, 100} {
			for fault := range partialFaults {
				partialFault(t, cfg, pool, fault)
			}
		}
	}
}

func partialFault(t *testing.T, cfg lockupdate.Config, pool int, name string) {
	cfg.Lease = 4 * time.Second
	bubbleWith(t, fmt.Sprintf("%s,pool=%d,onDemand=%t", name, pool, cfg.LockOnDemand), cfg, func(t *testing.T, f *fixture) {
		opts := f.proxy.Options()
		opts.PoolSize, opts.MaxActiveConns, opts.PipelinePoolSize = pool, pool, pool
		w := startTraffic(t, f.open(opts, cfg), 8)
		time.Sleep(500 * time.Millisecond)
		w.take()
		time.Sleep(500 * time.Millisecond)
		before := 2 * w.take()

		fault := partialFaults[name]
		fault.Match, fault.Times = onBad, -1
		remove := f.proxy.Inject(fault)
		time.Sleep(5 * time.Second)
		during := w.take()
		remove()
		time.Sleep(recovery)
		w.takeBoth()
		time.Sleep(500 * time.Millisecond)
		after := 2 * w.takeBoth()
		w.stop()
		t.Logf("updates a second: %d before, %d during the fault; of both backends after it: %d", before, during/5, after)
		assert.GreaterOrEqual(t, during, 5*before*9/10)
		assert.GreaterOrEqual(t, after, before*2*9/10, "the other backend is back")
		assert.Zero(t, w.failed.Load(), "updates of healthy keys")
		assert.Zero(t, w.lost.Load(), "locks of healthy keys")
	})
}

// traffic is goroutines that update keys of two backends, and hold locks.
type traffic struct {
	ok, bad, failed, lost atomic.Int64
	stop                  func()
}

func (w *traffic) take() int64 { w.bad.Store(0); return w.ok.Swap(0) }

func (w *traffic) takeBoth() int64 { return w.bad.Swap(0) + w.ok.Swap(0) }

func startTraffic(t *testing.T, s *lockupdate.Store, each int) *traffic {
	w := &traffic{}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	w.stop = func() { cancel(); all.Wait() }
	for i := range each {
		for _, tag := range []string{"{ok}", "{bad}"} {
			all.Go(func() {
				key := rmw.Key{Name: fmt.Sprint(tag, i)}
				for ctx.Err() == nil {
					call, end := context.WithTimeout(ctx, 3*time.Second)
					_, err := s.Update(call, key, func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.String("x"), nil })
					end()
					switch {
					case tag == "{ok}" && err == nil:
						w.ok.Add(1)
					case err == nil:
						w.bad.Add(1)
					case tag == "{ok}" && ctx.Err() == nil:
						w.failed.Add(1)
						t.Log(err)
					}
					time.Sleep(25 * time.Millisecond)
				}
			})
			all.Go(func() {
				err := s.WithLock(ctx, fmt.Sprint(tag, "lock", i), func(held context.Context) error {
					<-held.Done()
					return context.Cause(held)
				})
				if tag == "{ok}" && ctx.Err() == nil {
					w.lost.Add(1)
					t.Log(err)
				}
			})
		}
	}
	synctest.Wait()
	return w
}

// sharded is a client of two servers, which it tells apart by the hash tag of a key, as a ClusterClient does.
type sharded struct {
	*redis.Client
	bad *redis.Client
}

func (s sharded) MasterForKey(_ context.Context, key string) (*redis.Client, error) {
	if strings.Contains(key, "{bad}") {
		return s.bad, nil
	}
	return s.Client, nil
}

// A flush over several servers ends with the slowest one. A server that has lost its scripts gets the whole script only
// then, so that renewals for different servers must not share a flush.
func TestRenewalsOfServersAreApart(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		var hangs atomic.Bool
		f.rdb.AddHook(hook(func(_ context.Context, cmds []redis.Cmder, next func() error) error {
			err := next()
			if hangs.Load() && slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool { return onBad(argsOf(cmd)) }) {
				time.Sleep(3 * time.Second)
			}
			return err
		}))
		other := redis.NewClient(f.opts)
		s := lockupdate.New(sharded{f.rdb, other}, lockupdate.Config{Lease: 3 * time.Second})
		bad, ok := f.hold(t.Context(), s, "{bad}"), f.hold(t.Context(), s, "{ok}")
		for backend := range f.proxy.Backends() {
			require.NoError(t, f.proxy.FlushScripts(backend))
		}
		hangs.Store(true)
		time.Sleep(4 * time.Second)
		assert.NoError(t, ok.Context().Err(), context.Cause(ok.Context()))
		hangs.Store(false)
		assert.NoError(t, ok.Unlock())
		_ = bad.Unlock() // it may be lost
		require.NoError(t, s.Close())
		require.NoError(t, other.Close())
	})
}

// recovery is longer than keys are told apart after a fault.
const recovery = 6 * time.Second

// An acquire that was sent again, as its flush was late, may be executed after the release. Close releases once more, when
// that flush has ended.
func TestCloseReleasesALateAcquire(t *testing.T) {
	long.Repeats(t) // on one P an acquire seldom shares a flush
	bubbleWith(t, "", lockupdate.Config{Lease: 10 * time.Second}, func(t *testing.T, f *fixture) {
		w := startTraffic(t, f.store, 8)
		var mu sync.Mutex
		again := false
		sentAgain := func() bool {
			mu.Lock()
			defer mu.Unlock()
			return again
		}
		for pause := 50 * time.Millisecond; !sentAgain(); pause = recovery { // until the acquire shares a flush
			time.Sleep(pause)
			owner := ""
			f.proxy.Inject(proxytest.Fault{
				Match: func(args []string) bool {
					mu.Lock()
					defer mu.Unlock()
					if !isScript("acquire")(args) || owner != "" && owner != args[4] {
						return false
					}
					again, owner = owner != "", args[4]
					return !again
				},
				Action: proxytest.Delay, Delay: 300 * time.Millisecond,
			})
			time.Sleep(200 * time.Millisecond)
		}
		w.stop()
		require.NoError(t, f.store.Close())
		for i := range 8 {
			for _, tag := range []string{"{ok}", "{bad}"} {
				assert.False(t, f.hasLock(fmt.Sprint(tag, i)))
			}
		}
	})
}
