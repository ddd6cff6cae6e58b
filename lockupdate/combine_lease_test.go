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

// When the lease is lost while a member of a group runs, its ctx says so, what was
// done before it is written, the line moves on without it, and what it returns in the
// end is written only if nobody else wrote meanwhile.
func TestLeaseLostInAGroup(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg      lockupdate.Config
		sabotage func(f *fixture)
	}{
		"lock deleted": {lockupdate.Config{Lease: time.Second}, func(f *fixture) {
			require.NoError(f.t, f.direct().Del(f.t.Context(), lock+"s").Err())
		}},
		"renewals hang": {lockupdate.Config{Lease: time.Second}, func(f *fixture) {
			f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Times: 5, Action: proxytest.HangRequest})
		}},
		"held too long": {lockupdate.Config{Lease: time.Second, MaxHold: 3 * time.Second}, func(*fixture) {}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, tc.cfg)
				other := f.another(lockupdate.Config{})
				key := rmw.Key{Name: "s"}
				f.warm(key)
				attempts := 0
				late := func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					if attempts++; attempts == 1 {
						tc.sabotage(f)
						<-ctx.Done()
						assert.ErrorIs(t, context.Cause(ctx), rmw.ErrLockLost)
						time.Sleep(30 * time.Second)
					}
					return appendText("late,")(ctx, cur)
				}
				goOn, fates := f.line(key, appendText("a,"), late, appendText("b,"))
				theirs := start(t.Context(), other, key, appendText("theirs,"))
				began := time.Now()
				goOn()
				for _, fate := range []*fate{fates[0], fates[2], theirs} {
					<-fate.done
					require.NoError(t, fate.err)
					assert.Less(t, fate.at.Sub(began), 4*time.Second, "the line moves on")
				}
				<-fates[1].done
				if name == "held too long" {
					require.ErrorIs(t, fates[1].err, rmw.ErrLockLost, "it has had its time")
					assert.NotContains(t, f.text(key), "late")
				} else {
					require.NoError(t, fates[1].err)
					assert.Equal(t, 2, fates[1].res.Attempts)
					assert.Contains(t, fates[1].res.Before.Text(), "theirs,")
				}
				for _, part := range []string{"a,", "b,", "theirs,"} {
					assert.Contains(t, f.text(key), part)
				}
			})
		})
	}
}

// A commit that hangs until the lease is over holds up neither others for longer, nor
// what they write.
func TestLeaseLostUnderACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Lease: time.Second})
		other := f.another(lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		remove := f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Times: -1, Action: proxytest.DropRequest})
		f.proxy.Inject(proxytest.Fault{Match: isScript("commit_string"), Action: proxytest.Delay, Delay: 2 * time.Second})
		mine := start(t.Context(), f.store, key, appendText("mine"))
		next := start(t.Context(), f.store, key, appendText("next"))
		theirs := start(t.Context(), other, key, appendText("theirs"))
		<-theirs.done
		require.NoError(t, theirs.err)
		<-mine.done
		<-next.done
		remove()
		require.NoError(t, mine.err)
		require.NoError(t, next.err)
		assert.Equal(t, 2, mine.res.Attempts)
		assert.Equal(t, "wwwtheirsminenext", f.text(key))
	})
}

// slowDial is what net returns for a dial that takes too long.
func slowDial() error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded}
}

// A commit for which no connection can be made in time was not sent, and no ctx has
// ended: the store is unavailable, and the call may be tried again.
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
