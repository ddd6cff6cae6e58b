package lockupdate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// A waiter that misses its wake-up sleeps for the holder's whole lease, or forever (redisson#2338,
// redisson#5761, rueidis#602, rueidis#653). Between processes, every wait of lockupdate ends with a
// poll: see TestPitfall22RetryLimits. Within a process, a caller that leaves wakes the next one.
func TestPitfall12LostWakeUp(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		use := func(ctx context.Context, section bool) error {
			if section {
				return f.store.WithLock(ctx, "s", nothing)
			}
			_, err := f.store.Update(ctx, key, appendText("x"))
			return err
		}
		left := 0
		for i := range 40 { // in half of the rounds, the leaver gets the lock first
			l := f.lockAll("s")[0]
			ctx, cancel := context.WithCancel(t.Context())
			leaver, stayer := make(chan error, 1), make(chan error, 1)
			go func() { leaver <- use(endingCtx{ctx, cancel}, i%2 == 0) }()
			synctest.Wait()
			go func() { stayer <- use(t.Context(), i%4 < 2) }()
			synctest.Wait()
			require.NoError(t, l.Unlock())
			began := time.Now()
			if err := <-leaver; err != nil {
				require.ErrorIs(t, err, context.Canceled)
				left++
			}
			require.NoError(t, <-stayer)
			require.Less(t, time.Since(began), time.Second)
		}
		assert.Positive(t, left)
	})
}

// endingCtx is a ctx that ends when its waiter gets the lock.
type endingCtx struct {
	context.Context
	leave func()
}

func (c endingCtx) Done() <-chan struct{} {
	time.Sleep(20 * time.Millisecond) // meanwhile the waiter gets the lock
	c.leave()
	return c.Context.Done()
}

// Waiters that poll at fixed intervals poll at the same time, and overload the server
// (juicefs#7336, juicefs#34, medusa#15143, node-redlock#37, ioredis#1574, discourse#17886,
// spring-integration#3690). lockupdate has one poller per process, with growing jittered pauses,
// and polls at the end of the holder's lease.
func TestPitfall13Herd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiters, long = 100, 10 * time.Second
		f, key := warmFixture(t, lockupdate.Config{MaxWait: long})
		f.takeAsOther(key, 0)
		var mu sync.Mutex
		var last time.Time
		gaps := map[time.Duration]bool{}
		f.proxy.Inject(proxytest.Fault{Match: isScript("acquire"), Times: -1, Do: func() {
			mu.Lock()
			defer mu.Unlock()
			gaps[time.Since(last)] = true
			last = time.Now()
		}})
		var wg sync.WaitGroup
		for range waiters {
			wg.Go(func() {
				_, err := f.store.Update(t.Context(), key, appendText("x"))
				assert.ErrorIs(t, err, rmw.ErrContended)
			})
			time.Sleep(5 * time.Millisecond) // a new waiter does not poll by itself
		}
		wg.Wait()
		polls := f.sent()["acquire"]
		assert.InDelta(t, long/(32*time.Millisecond), polls, 100, "as of one waiter, at pauses of 0 to 64 ms")
		assert.Greater(t, len(gaps), polls*9/10, "pauses are alike")
	})
}

// A lock that identifies its owner by goroutine or thread admits other work on it, and excludes the
// owner's helpers (redisson#3580, redisson#4178, redisson#4956, redisson#6662, redisson#6881).
// lockupdate identifies the owner by ctx: see also the clauses other-ctx, nested-elsewhere and stale-ctx of locktest.
func TestPitfall14ReentrancyByGoroutine(t *testing.T) {
	withFixture(t, lockupdate.Config{MaxWait: time.Second}, func(t *testing.T, f *fixture) {
		var outlived context.Context
		require.NoError(t, f.store.WithLock(t.Context(), "s", func(ctx context.Context) error {
			outlived = context.WithoutCancel(ctx)
			succeed(t, start(ctx, f.store, testKey, appendText("helper"))) // another goroutine of the holder
			require.ErrorIs(t, f.another(lockupdate.Config{}).TryLock(ctx, "s", nothing), rmw.ErrContended, "another Store")
			return nil
		}))
		f.waitReleases()
		f.takeAsOther(testKey, 0)
		_, err := f.store.Update(outlived, testKey, appendText("too late"))
		require.ErrorIs(t, err, rmw.ErrContended, "a ctx that has outlived its lock")
		assert.Equal(t, "helper", f.text(testKey))
	})
}

// A fixed number of tries surprises callers that wait for longer (redsync#74, redsync#82), and no
// limit surprises others (redis-py#566). In lockupdate, ctx and Config.MaxWait limit the wait, and no poll is later than the end of
// the holder's lease, for any Config.Poll. Config.MaxAttempts limits the calls of fn, not the polls.
func TestPitfall22RetryLimits(t *testing.T) {
	const held = 30 * time.Second
	for name, cfg := range map[string]lockupdate.Config{
		"many polls": {MaxAttempts: 1}, "one poll": {Poll: rmw.Backoff{Base: time.Hour, Max: time.Hour}}, "MaxWait": {MaxWait: held / 3},
	} {
		bubbleWithKey(t, name, cfg, func(t *testing.T, f *fixture, key rmw.Key) {
			f.takeAsOther(key, held)
			began := time.Now()
			res, err := f.store.Update(t.Context(), key, appendText("x"))
			assert.Equal(t, time.Since(began), res.Waited)
			if cfg.MaxWait == 0 {
				require.NoError(t, err)
				assert.InDelta(t, held, res.Waited, float64(2*time.Millisecond))
				assert.Equal(t, name == "many polls", f.sent()["acquire"] > 500)
				assert.Equal(t, 1, res.Attempts, "waiting does not count as an attempt")
				return
			}
			require.ErrorIs(t, err, rmw.ErrContended)
			require.NotErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "MaxWait")
			assert.True(t, rmw.Retryable(err))
			assert.Equal(t, cfg.MaxWait, res.Waited)
			assert.Zero(t, res.Attempts)
		})
	}
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		legacy := f.direct()
		res, err := f.store.Update(t.Context(), testKey, within(func(ctx context.Context) {
			require.NoError(t, legacy.Append(ctx, "s", "theirs").Err())
		}, appendText("mine")))
		require.ErrorIs(t, err, rmw.ErrContended)
		assert.Equal(t, 100, res.Attempts)
		assert.Equal(t, strings.Repeat("theirs", 100), f.text(testKey), "as often was fn called")
	})
}

// After a failover or a slot migration, a server answers NOSCRIPT, and a client does not retry that
// in a pipeline. Proxies refuse SCRIPT LOAD, or send it to any server (go-redis#3228,
// redis-py#4206, codis#526, codis#1368). lockupdate sends each such call again as EVAL.
func TestPitfall09NoScriptInPipelines(t *testing.T) {
	withKey(t, lockupdate.Config{Lease: 10 * time.Second}, func(t *testing.T, f *fixture, key rmw.Key) {
		forget := func(round int) {
			for backend := range 2 {
				if round&(backend+1) == 0 {
					require.NoError(t, f.proxy.FlushScripts(backend))
				}
			}
		}
		forget(0)
		pipe := f.rdb.Pipeline()
		ran := redis.NewScript("return 1").Run(t.Context(), pipe, []string{"s"})
		_, _ = pipe.Exec(t.Context())
		require.ErrorContains(t, ran.Err(), "NOSCRIPT", "control: the pitfall exists")
		f.proxy.ResetCalls()

		// Acquire and read, renewals, commit and release, each after one or both servers
		// lost their script caches.
		for round := range 4 {
			forget(round)
			err := f.store.WithLocks(t.Context(), []string{"a", "b", "c"}, func(ctx context.Context) error {
				res, err := f.store.Update(ctx, key, duringFirstCall(func() {
					forget(round)
					time.Sleep(20 * time.Second) // four renewals
					forget(round)
				}, appendText("x")))
				assert.Equal(t, 1, res.Attempts)
				return err
			})
			require.NoError(t, err)
			f.waitReleases()
		}
		assert.Equal(t, "wwwxxxx", f.text(key))
		assert.Positive(t, f.proxy.Count()["EVAL"])
		assert.Zero(t, f.proxy.Count()["SCRIPT"])
	})
}

// Proxies refuse the handshake of go-redis, or break shared connections because of it
// (go-redis#2616, go-redis#2792, go-redis#3536, go-redis#3853). With proxycompat.Options, go-redis
// sends none.
func TestPitfall11HandshakeCommands(t *testing.T) {
	for _, profile := range []*proxycompat.Profile{proxycompat.Codis32(), proxycompat.Twemproxy05()} {
		bubble(t, profile.Name(), func(t *testing.T) {
			f := newFixtureOn(t, profile, lockupdate.Config{})
			firstUpdate := func(opts *redis.Options) (sent map[string]int, err error) {
				f.proxy.ResetCalls()
				rdb := redis.NewClient(opts)
				store := lockupdate.New(rdb, lockupdate.Config{})
				_, err = store.Update(t.Context(), testKey, appendText("x"))
				err = errors.Join(err, store.Close(), rdb.Close())
				return f.proxy.Count(), err
			}
			opts := proxycompat.Options(profile, f.proxy.Addr())
			opts.Dialer = proxycompat.HelloDialer(f.proxy.Dial)
			sent, err := firstUpdate(opts)
			require.NoError(t, err)
			assert.Equal(t, map[string]int{"EVAL": 4, "EVALSHA": 4}, sent)
			sent, err = firstUpdate(&redis.Options{Addr: f.proxy.Addr(), Dialer: f.proxy.Dial})
			assert.Positive(t, sent["HELLO"], "control: the pitfall exists")
			if profile.Name() == "twemproxy" {
				require.Error(t, err, "control")
			}
		})
	}
}

// A proxy may reorder the commands of a pipeline (pikiwidb#2174, which is Codis): a read before its
// acquire, or a release before its commit. The guard makes the first harmless. The release waits
// for the reply to the commit: see TestUnknownIsCountedAndLogsNoValue.
func TestPitfall15PipelineOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixtureBehind(t, proxytest.Config{Engines: 2, Reorder: true}, lockupdate.Config{})
		key := f.warmKey()
		other := f.another(lockupdate.Config{})
		f.proxy.Inject(proxytest.Fault{Match: isScript("acquire"), Do: func() {
			_, err := other.Update(t.Context(), key, appendText("+theirs"))
			assert.NoError(t, err)
			lockupdate.Settle(other)
		}})
		res := f.update(key, appendText("+mine"))
		assert.Zero(t, res.Waited, "control: the lock was free")
		assert.Equal(t, 2, res.Attempts, "control: the value was read before the acquire")
		assert.Equal(t, "www+theirs+mine", f.text(key))
	})
}

// One error for a lock that is taken, lost, unreachable or abandoned does not tell callers how to
// react (redsync#81, redsync#98, redsync#164, node-redlock#65, node-redlock#131, node-redlock#168,
// redisson#5000). Errors of lockupdate match exactly their reasons.
func TestPitfall16ErrorsThatHideTheReason(t *testing.T) {
	type doer = func(ctx context.Context, f *fixture) error
	update := func(ctx context.Context, f *fixture) error { return operations["update"](ctx, f.store) }
	taken := func(do doer) doer {
		return func(ctx context.Context, f *fixture) error { f.takeAsOther(testKey, 0); return do(ctx, f) }
	}
	left := func(after time.Duration) doer {
		return func(ctx context.Context, f *fixture) error {
			ctx, cancel := context.WithCancel(ctx)
			if after == 0 {
				cancel()
			}
			time.AfterFunc(after, cancel)
			return update(ctx, f)
		}
	}
	refused := func(script, text string) doer {
		return func(ctx context.Context, f *fixture) error { f.refuse(script, -1, text); return update(ctx, f) }
	}
	for name, tc := range map[string]struct {
		do  doer
		are []error
		op  string
	}{
		"waited for MaxWait": {taken(update), []error{rmw.ErrContended}, "acquire"},
		"waited until the deadline": {taken(func(ctx context.Context, f *fixture) error {
			return update(timeout(ctx, f.t, time.Second), f)
		}), []error{rmw.ErrContended, context.DeadlineExceeded}, "acquire"},
		"waited and left": {taken(left(time.Second)), []error{rmw.ErrContended, context.Canceled}, "acquire"},
		"left before":     {left(0), []error{context.Canceled}, "update"},
		"did not wait": {taken(func(ctx context.Context, f *fixture) error {
			return f.store.TryLock(ctx, "s", nothing)
		}), []error{rmw.ErrContended}, "lock"},
		"lost": {func(ctx context.Context, f *fixture) error {
			return f.store.WithLock(ctx, "s", func(ctx context.Context) error {
				assert.NoError(t, f.direct().Del(ctx, lock+"s").Err())
				<-ctx.Done()
				return nil
			})
		}, []error{rmw.ErrLockLost}, "unlock"},
		"in doubt":              {refused("commit_string", connReset), []error{rmw.ErrOutcomeUnknown}, "commit"},
		"refused by the server": {refused("acquire", "NOPERM this user has no permissions"), []error{rmw.ErrUnsupported}, "acquire"},
		"refused by the proxy": {
			refused("acquire", "ERR handle request, command 'EVALSHA' is not allowed"), // by Codis
			[]error{rmw.ErrUnsupported}, "acquire",
		},
		"unreachable": {refused("acquire", connReset), []error{rmw.ErrUnavailable}, "acquire"},
		"wrong kind of lock": {func(ctx context.Context, f *fixture) error {
			assert.NoError(t, f.direct().Set(ctx, lock+"s", "", 0).Err())
			return update(ctx, f)
		}, []error{rmw.ErrWrongKind}, "acquire"},
		"wrong kind of value": {func(ctx context.Context, f *fixture) error {
			assert.NoError(t, f.direct().HSet(ctx, "s", "f", "v").Err())
			return update(ctx, f)
		}, []error{rmw.ErrWrongKind}, "read"},
		"closed": {func(ctx context.Context, f *fixture) error {
			assert.NoError(t, f.store.Close())
			return update(ctx, f)
		}, []error{rmw.ErrClosed}, "update"},
	} {
		bubbleWith(t, name, lockupdate.Config{MaxWait: 5 * time.Second}, func(t *testing.T, f *fixture) {
			err := tc.do(t.Context(), f)
			var own *rmw.Error
			require.ErrorAs(t, err, &own)
			assert.Equal(t, []string{"lockupdate", tc.op, "s"}, []string{own.Path, own.Op, own.Key})
			for _, reason := range []error{
				rmw.ErrContended, rmw.ErrLockLost, rmw.ErrOutcomeUnknown, rmw.ErrWrongKind, rmw.ErrUnsupported,
				rmw.ErrUnavailable, rmw.ErrInvalid, rmw.ErrClosed, context.Canceled, context.DeadlineExceeded,
			} {
				assert.Equal(t, slices.Contains(tc.are, reason), errors.Is(err, reason), reason)
			}
		})
	}
}
