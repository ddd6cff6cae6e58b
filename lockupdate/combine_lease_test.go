package lockupdate_test

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

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// If the lease is lost while one fn of a batch runs, its ctx ends, and the results of earlier fns
// are committed. Later calls do not wait for this fn. Its result is stored only if no other process
// wrote since.
func TestLeaseLostInABatch(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg       lockupdate.Config
		loseLease func(f *fixture)
	}{
		"lock deleted": {lockupdate.Config{Lease: time.Second}, func(f *fixture) {
			require.NoError(f.t, f.direct().Del(f.t.Context(), lock+"s").Err())
		}},
		"renewals hang": {lockupdate.Config{Lease: time.Second}, func(f *fixture) {
			f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Times: 5, Action: proxytest.HangRequest})
		}},
		"held too long": {lockupdate.Config{Lease: time.Second, MaxHold: 3 * time.Second}, func(*fixture) {}},
	} {
		bubble(t, name, func(t *testing.T) {
			f, key := warmFixture(t, tc.cfg)
			other := f.another(lockupdate.Config{})
			attempts := 0
			late := func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				if attempts++; attempts == 1 {
					tc.loseLease(f)
					<-ctx.Done()
					assert.ErrorIs(t, context.Cause(ctx), rmw.ErrLockLost)
					time.Sleep(30 * time.Second)
				}
				return appendText("late,")(ctx, cur)
			}
			proceed, calls := f.enqueue(key, appendText("a,"), late, appendText("b,"))
			theirs := start(t.Context(), other, key, appendText("theirs,"))
			began := time.Now()
			proceed()
			for _, call := range []*pendingCall{calls[0], calls[2], theirs} {
				<-call.done
				require.NoError(t, call.err)
				assert.Less(t, call.at.Sub(began), 4*time.Second, "later calls run without it")
			}
			<-calls[1].done
			if name == "held too long" {
				require.ErrorIs(t, calls[1].err, rmw.ErrLockLost, "MaxHold is over")
				assert.NotContains(t, f.text(key), "late")
			} else {
				require.NoError(t, calls[1].err)
				assert.Equal(t, 2, calls[1].res.Attempts)
				assert.Contains(t, calls[1].res.Before.Text(), "theirs,")
			}
			for _, part := range []string{"a,", "b,", "theirs,"} {
				assert.Contains(t, f.text(key), part)
			}
		})
	}
}

// slowDial returns the error of package net for a dial that timed out.
func slowDial() error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded}
}

// If no connection can be made in time, the commit was not sent. The error is rmw.ErrUnavailable
// and retryable, although no ctx has ended.
func TestCommitCannotDial(t *testing.T) {
	for name, stall := range map[string]time.Duration{"in time": time.Second, "lease lost": time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, lockupdate.Config{})
				var down atomic.Bool
				opts := f.proxy.Options()
				dial := opts.Dialer
				opts.ConnMaxIdleTime, opts.MaxRetries, opts.DialerRetries = 10*time.Millisecond, -1, 1
				opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					if down.Load() {
						return nil, slowDial()
					}
					return dial(ctx, network, addr)
				}
				rdb := redis.NewClient(opts)
				defer func() { assert.NoError(t, rdb.Close()) }()
				s := lockupdate.New(rdb, lockupdate.Config{Lease: 10 * time.Second, NoBreaker: true})
				defer func() { assert.NoError(t, s.Close()) }()
				_, err := s.Update(t.Context(), rmw.Key{Name: "s"}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					down.Store(true)
					time.Sleep(stall)
					return appendText("x")(ctx, cur)
				})
				down.Store(false)
				require.ErrorIs(t, err, rmw.ErrUnavailable)
				require.NotErrorIs(t, err, context.DeadlineExceeded)
				assert.True(t, rmw.Retryable(err))
			})
		})
	}
}
