package cas_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

func TestMaxAttemptsEndsInErrContended(t *testing.T) {
	for _, attempts := range []int{1, 5} {
		t.Run(strconv.Itoa(attempts), withFixture(cas.Config{MaxAttempts: attempts}, func(t *testing.T, f *fixture) {
			calls := 0
			res, err := f.store.Update(t.Context(), key, f.behindItsBack(func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				calls++
				return appendText("mine,")(ctx, cur)
			}))
			require.ErrorIs(t, err, rmw.ErrContended)
			assert.True(t, rmw.Retryable(err))
			assert.Equal(t, attempts, calls)
			var e *rmw.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, attempts, e.Attempts)
			assert.Equal(t, rmw.Result{Attempts: attempts, Waited: res.Waited}, res)
			assert.NotContains(t, f.text(), "mine", "nothing was written")
		}))
	}
}

// With fake time the whole wait, and nothing but the wait, is what passes.
func TestResultWaitedIsTheBackoff(t *testing.T) {
	backoff := rmw.Backoff{Base: time.Second, Max: time.Minute}
	withFixture(cas.Config{MaxAttempts: 10, Backoff: backoff}, func(t *testing.T, f *fixture) {
		f.warm()
		calls := 0
		began := time.Now()
		res, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			if calls++; calls < 4 {
				f.set(time.Now().String())
			}
			return appendText("x")(ctx, cur)
		})
		require.NoError(t, err)
		assert.Equal(t, 4, res.Attempts)
		assert.Equal(t, time.Since(began), res.Waited)
		assert.Positive(t, res.Waited)
		assert.Less(t, res.Waited, (1+2+4)*time.Second)

		res, err = f.store.Update(t.Context(), key, appendText("x"))
		require.NoError(t, err)
		assert.Zero(t, res.Waited)
	})(t)
}

// A ctx that ends during a backoff ends the call, which tells both.
func TestCtxEndsTheBackoff(t *testing.T) {
	withFixture(cas.Config{Backoff: rmw.Backoff{Base: 1 << 60}}, func(t *testing.T, f *fixture) {
		f.warm()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		res, err := f.store.Update(ctx, key, f.behindItsBack(appendText("mine,")))
		require.ErrorIs(t, err, rmw.ErrContended)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.False(t, rmw.Retryable(err))
		assert.Equal(t, time.Second, time.Since(began))
		assert.Equal(t, rmw.Result{Attempts: 1, Waited: time.Second}, res)
	})(t)
}

// EXEC answers nil when the key has changed. That is an answer, unlike one that
// got lost: the first is tried again, the second never.
func TestConflictDiffersFromLostReply(t *testing.T) {
	const timeout = 5 * time.Second // go-redis' ReadTimeout
	for name, tc := range map[string]struct {
		fault   proxytest.Fault
		written bool
		took    time.Duration
	}{
		"reply lost":             {proxytest.Fault{Action: proxytest.DropReply}, true, 0},
		"reply cut":              {proxytest.Fault{Action: proxytest.DropReply, Keep: 1}, true, 0},
		"reply cut at its end":   {proxytest.Fault{Action: proxytest.DropReply, Keep: 3}, true, 0},
		"request lost":           {proxytest.Fault{Action: proxytest.DropRequest}, false, 0},
		"no answer":              {proxytest.Fault{Action: proxytest.HangReply}, true, timeout},
		"not run, and no answer": {proxytest.Fault{Action: proxytest.HangRequest}, false, timeout},
		"unheard of":             {proxytest.Fault{Action: proxytest.RefuseWith, Text: "WHAT is this"}, false, 0},
	} {
		t.Run(name, withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
			f.warm()
			tc.fault.Command = "EXEC"
			f.proxy.Inject(tc.fault)
			began := time.Now()
			calls := 0
			res, err := f.store.Update(t.Context(), key, func(context.Context, rmw.Value) (rmw.Value, error) {
				calls++
				return rmw.String("mine"), nil
			})
			require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
			assert.False(t, rmw.Retryable(err))
			assert.Equal(t, tc.took, time.Since(began))
			assert.Equal(t, 1, calls, "it is not tried again, neither by the Store nor by go-redis")
			assert.Equal(t, 1, f.proxy.Count()["EXEC"])
			assert.Equal(t, rmw.Result{Attempts: 1}, res)
			assert.Equal(t, tc.written, f.text() == "mine")
		}))
	}
}

// Before the EXEC nothing can have been written, so a broken connection there is
// nothing but a delay, up to a few.
func TestRetryBeforeExec(t *testing.T) {
	for _, command := range []string{"WATCH", "GET"} {
		for times, want := range map[int]error{1: nil, 2: nil, -1: rmw.ErrUnavailable} {
			t.Run(command, withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
				opts := *f.rdb.Options()
				opts.MaxRetries = -1 // it is the Store that tries again
				require.NoError(t, f.rdb.Close())
				f.rdb = redis.NewClient(&opts)
				f.store = cas.New(f.rdb, cas.Config{})
				f.warm()
				remove := f.proxy.Inject(proxytest.Fault{Command: command, Action: proxytest.DropReply, Times: times})
				res, err := f.store.Update(t.Context(), key, appendText("x"))
				remove()
				require.NoError(t, f.store.Close())
				if want == nil {
					require.NoError(t, err)
					assert.Equal(t, 1, res.Attempts)
					assert.Equal(t, "x", f.text())
					return
				}
				require.ErrorIs(t, err, want)
				require.NotErrorIs(t, err, rmw.ErrOutcomeUnknown)
				assert.Equal(t, 3, f.proxy.Count()[command])
				assert.Equal(t, "", f.text())
			}))
		}
	}
}

// A broken connection loses its WATCH. If the Store repeated the read on another connection, EXEC would succeed
// despite a foreign write.
func TestBrokenReadIsNotRepeated(t *testing.T) {
	for _, command := range []string{"get", "hgetall"} {
		for _, action := range []proxytest.Action{proxytest.DropReply, proxytest.DropRequest, proxytest.HangReply} {
			t.Run(fmt.Sprint(command, action), withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
				key := key
				if command == "hgetall" {
					key.Kind = rmw.KindHash
				}
				f.warm()
				f.proxy.Inject(proxytest.Fault{Match: func(args []string) bool { return args[0] == command }, Action: action})
				began := time.Now()
				calls := 0
				_, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					if calls++; calls > 1 {
						return cur, errFull
					}
					if key.Kind == rmw.KindHash {
						require.NoError(t, f.other.HSet(ctx, key.Name, "theirs", "1").Err())
						return cur.With("mine", "1"), nil
					}
					f.set("theirs")
					return rmw.String("mine"), nil
				})
				require.Equal(t, errFull, err, "the first call of fn must not have been written")
				assert.Equal(t, 2, f.proxy.Count()["WATCH"]-1, "one for the read that broke, one for each call of fn")
				within := 5 * time.Millisecond
				if action == proxytest.HangReply {
					within += f.rdb.Options().ReadTimeout
				}
				assert.Less(t, time.Since(began), within, "go-redis has not tried the broken connection again, after pauses")
			}))
		}
	}
}

// A dial that takes too long is a context.DeadlineExceeded to net, though no ctx
// of the caller's has ended.
func TestSlowDialIsUnavailable(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return (&net.Dialer{Timeout: 1}).DialContext(ctx, network, addr)
		},
	})
	defer rdb.Close()
	s := cas.New(rdb, cas.Config{})
	defer s.Close()
	for _, err := range callAll(t, s) {
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		assert.True(t, rmw.Retryable(err))
		assert.ErrorContains(t, err, "i/o timeout")
	}
}

// The commands run on a goroutine of their own. A panic there would end the process, even if the caller recovers.
func TestHookPanicReachesCaller(t *testing.T) {
	for _, command := range []string{"watch", "get", "multi", "set", "exec"} {
		t.Run(command, withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
			f.set("x")
			f.rdb.AddHook(hook(func(_ context.Context, cmd redis.Cmder) error {
				if cmd.Name() == command {
					panic("a hook's bug at " + command)
				}
				return nil
			}))
			assert.PanicsWithValue(t, "a hook's bug at "+command, func() {
				_, _ = f.store.Update(t.Context(), key, appendText("y"))
			})
			assert.Equal(t, "x", f.text())
			require.NoError(t, f.store.Close(), "nothing is left running")
		}))
	}
}

// uncalled is a client whose Watch gives up without an error, and without a call, as that of go-redis'
// ClusterClient does after too many redirects.
type uncalled struct{ redis.UniversalClient }

func (uncalled) Watch(context.Context, func(*redis.Tx) error, ...string) error { return nil }

func TestWatchThatNeverCalls(t *testing.T) {
	s := cas.New(uncalled{}, cas.Config{})
	_, err := s.Update(t.Context(), key, mustNotRun(t))
	require.ErrorIs(t, err, rmw.ErrUnavailable)
	require.NoError(t, s.Close())
}
