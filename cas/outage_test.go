package cas_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

const (
	readOnly   = "READONLY You can't write against a read only replica."
	loading    = "LOADING Redis is loading the dataset in memory"
	masterDown = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
)

// failover is a server that is demoted while connections to it are open. New ones lead to the other one.
type failover struct {
	was, is *proxytest.Proxy
	over    atomic.Bool
	store   *cas.Store
}

func newFailover(t *testing.T, cfg cas.Config) *failover {
	f := &failover{}
	for _, p := range []**proxytest.Proxy{&f.was, &f.is} {
		var err error
		*p, err = proxytest.Start(proxytest.Config{Profile: proxycompat.Redis(), InMemory: true})
		require.NoError(t, err)
	}
	opts, after := f.was.Options(), f.is.Options().Dialer
	before := opts.Dialer
	opts.PoolSize = poolSize
	opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if f.over.Load() {
			return after(ctx, network, addr)
		}
		return before(ctx, network, addr)
	}
	rdb := redis.NewClient(opts)
	f.store = cas.New(rdb, cfg)
	t.Cleanup(func() {
		require.NoError(t, f.store.Close())
		require.NoError(t, rdb.Close())
		require.NoError(t, f.was.Close())
		require.NoError(t, f.is.Close())
	})
	for range poolSize { // each opens a connection
		_, err := f.store.Update(t.Context(), rmw.Key{Name: "k"}, f.inner(t, poolSize))
		require.NoError(t, err)
	}
	return f
}

// inner is an fn that makes nested updates of other keys, so that each has a connection of its own.
func (f *failover) inner(t *testing.T, depth int) rmw.UpdateFunc {
	return func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		if depth > 1 {
			_, err := f.store.Update(ctx, rmw.Key{Name: "k" + string(rune('0'+depth))}, f.inner(t, depth-1))
			require.NoError(t, err)
		}
		return rmw.String(cur.Text() + "a"), nil
	}
}

// demote lets the server answer as one that is demoted.
func (f *failover) demote(text string) {
	f.over.Store(true)
	refuse := func(command, text string) {
		f.was.Inject(proxytest.Fault{Command: command, Times: -1, Action: proxytest.RefuseWith, Text: text})
	}
	switch text {
	case readOnly:
		refuse("SET", text)
		refuse("EXEC", "EXECABORT Transaction discarded because of previous errors.")
	case masterDown:
		refuse("GET", text)
		refuse("PTTL", text)
		refuse("EXEC", "EXECABORT Transaction discarded because of previous errors.")
	default:
		refuse("", text)
	}
}

func TestUpdatesLeaveADemotedPrimary(t *testing.T) {
	for _, text := range []string{readOnly, loading, masterDown} {
		t.Run(text[:8], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFailover(t, cas.Config{})
				f.demote(text)
				began := time.Now()
				for range 60 {
					_, err := f.store.Update(t.Context(), key, appendText("x"))
					require.NoError(t, err)
				}
				assert.Less(t, time.Since(began), 4*time.Second)
				v, err := f.store.Read(t.Context(), key)
				require.NoError(t, err)
				assert.Len(t, v.Text(), 60, "each is stored once, on the new primary")
			})
		})
	}
}

// Reads of a demoted primary that answers are stale, and nothing shows it.
func TestReadsLeaveAServerThatCannotServe(t *testing.T) {
	for _, text := range []string{loading, masterDown} {
		for name, read := range map[string]func(ctx context.Context, s *cas.Store) error{
			"read": func(ctx context.Context, s *cas.Store) error { _, err := s.Read(ctx, key); return err },
			"peek": func(ctx context.Context, s *cas.Store) error { _, _, err := s.Peek(ctx, key); return err },
		} {
			t.Run(name+","+text[:8], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFailover(t, cas.Config{})
					f.demote(text)
					require.NoError(t, read(t.Context(), f.store))
				})
			})
		}
	}
}

// Without another server, the call ends: after 3 s, with ctx, or with its attempts.
func TestOutagesEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		attempts int
		timeout  time.Duration
		atMost   time.Duration
		want     error
	}{
		"3 s":         {timeout: time.Hour, atMost: 5 * time.Second, want: rmw.ErrUnavailable},
		"ctx":         {timeout: 100 * time.Millisecond, atMost: 100 * time.Millisecond, want: context.DeadlineExceeded},
		"MaxAttempts": {attempts: 3, timeout: time.Hour, atMost: time.Second, want: rmw.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFailover(t, cas.Config{MaxAttempts: tc.attempts})
				f.demote(readOnly)
				f.over.Store(false)
				ctx, cancel := context.WithTimeout(t.Context(), tc.timeout)
				defer cancel()
				began, calls := time.Now(), 0
				_, err := f.store.Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
					calls++
					return rmw.String(cur.Text() + "x"), nil
				})
				require.ErrorIs(t, err, tc.want)
				require.NotErrorIs(t, err, rmw.ErrOutcomeUnknown)
				assert.LessOrEqual(t, time.Since(began), tc.atMost)
				if tc.attempts > 0 {
					assert.Equal(t, tc.attempts, calls)
				}
			})
		})
	}
}

// An error of fn is the caller's, also if it looks like the reply of a demoted primary.
func TestErrorsOfFnAreNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, calls := newFailover(t, cas.Config{}), 0
		_, err := f.store.Update(t.Context(), key, func(context.Context, rmw.Value) (rmw.Value, error) {
			calls++
			return rmw.Value{}, redisError(readOnly)
		})
		require.ErrorIs(t, err, redisError(readOnly))
		assert.Equal(t, 1, calls)
	})
}

type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}
