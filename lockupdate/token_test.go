package lockupdate_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// drawToken returns the token of a new critical section.
func drawToken(t *testing.T, s *lockupdate.Store, name string) uint64 {
	t.Helper()
	var token uint64
	require.NoError(t, s.WithLock(t.Context(), name, func(ctx context.Context) (err error) {
		token, err = locking.Token(ctx)
		return err
	}))
	lockupdate.Settle(s)
	return token
}

// The first Token of a lock costs one command, others are free. An update without Token costs none.
func TestTokenBudget(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		drawToken(t, f.store, "s")
		f.settle()
		start := f.meter.Read()
		res := f.update(key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			first, err := locking.Token(ctx)
			require.NoError(t, err)
			second, err := locking.Token(ctx)
			require.NoError(t, err)
			assert.Equal(t, first, second)
			return rmw.String(strconv.FormatUint(first, 10)), nil
		})
		assert.Equal(t, res.After.Text(), strconv.FormatUint(res.Token, 10))
		f.waitReleases()
		assert.EqualValues(t, 4, f.meter.Read().Sub(start).RoundTrips)
		assert.Equal(t, []string{"acquire", "read", "token", "commit_string", "release"}, f.calls())
		assert.Equal(t, 7*24*time.Hour, f.direct().PTTL(t.Context(), "/fence"+lock+"s").Val(), "the counter must expire")
		res = f.update(key, appendText("x"))
		assert.Zero(t, res.Token)
	})
}

// A token that is drawn after the lease could exceed that of the next holder. Token returns an
// error instead, also on a ctx that has ended with the lease.
func TestLateTokenIsRefused(t *testing.T) {
	for name, of := range map[string]func(context.Context) context.Context{
		"ended ctx": func(ctx context.Context) context.Context { return ctx }, "another ctx": context.WithoutCancel,
	} {
		bubbleWith(t, name, lockupdate.Config{Lease: time.Second}, func(t *testing.T, f *fixture) {
			drawToken(t, f.store, "s")
			f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Times: -1, Action: proxytest.DropRequest})
			f.proxy.Inject(proxytest.Fault{Match: isScript("token"), Action: proxytest.Delay, Delay: 2 * time.Second})
			l := f.hold(t.Context(), f.store, "s")
			for range 2 { // the second after the loss
				_, err := locking.Token(of(l.Context()))
				require.ErrorIs(t, err, rmw.ErrLockLost)
				require.NotErrorIs(t, err, context.Canceled, "no caller has canceled anything")
			}
			require.ErrorIs(t, l.Unlock(), rmw.ErrLockLost)
		})
	}
}

// Without a lock there is no token. A lost answer skips a number. If no token can be drawn, the outcome of the update stays known.
func TestTokenFaults(t *testing.T) {
	eachStore(t, lockupdate.Config{}, func(t *testing.T, f *fixture, _ nativeStore) {
		_, err := locking.Token(t.Context())
		require.ErrorIs(t, err, rmw.ErrInvalid)
		before := drawToken(t, f.store, "s")
		lost := proxytest.Fault{Action: proxytest.DropReply, Match: func(args []string) bool {
			return slices.Contains(args, "/fence/lock/s") && !strings.HasPrefix(args[0], "get")
		}}
		f.proxy.Inject(lost)
		assert.Greater(t, drawToken(t, f.store, "s"), before)
		lost.Times = -1
		f.proxy.Inject(lost)
		err = operations["token"](t.Context(), f.store)
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		require.NotErrorIs(t, err, rmw.ErrOutcomeUnknown)
	})
}

// lock.Token, lock.SequencerOf and WithLock within fn take the lock. If the key has changed since fn began, fn runs
// again.
func TestOnDemandToken(t *testing.T) {
	for name, take := range map[string]func(ctx context.Context, s *lockupdate.Store) error{
		"token": func(ctx context.Context, _ *lockupdate.Store) error {
			token, err := locking.Token(ctx)
			if again, _ := locking.Token(ctx); err == nil && (token == 0 || again != token) {
				return errors.New("another token")
			}
			return err
		},
		"sequencer": func(ctx context.Context, s *lockupdate.Store) error {
			seq, err := locking.SequencerOf(ctx)
			return cmp.Or(err, s.Check(ctx, seq))
		},
		"section": func(ctx context.Context, s *lockupdate.Store) error { return s.WithLock(ctx, "s", nothing) },
	} {
		for _, changed := range []bool{false, true} {
			bubbleWithKey(t, name, onDemand, func(t *testing.T, f *fixture, key rmw.Key) {
				calls := 0
				res := f.update(key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					if calls++; changed && calls == 1 {
						f.writeBeside()
					}
					assert.Equal(t, calls == 1, locking.StateOf(ctx) == locking.Lost)
					if err := take(ctx, f.store); err != nil {
						return rmw.Value{}, err
					}
					assert.Equal(t, locking.Safe, locking.StateOf(ctx))
					h, err := f.store.Inspect(t.Context(), "s")
					assert.NoError(t, err)
					assert.NotEmpty(t, h.Owner, "the lock is held")
					return rmw.String(cur.Text() + "x"), nil
				})
				if name == "token" {
					assert.NotZero(t, res.Token)
				}
				attempts, text := 1, "wwwx"
				if changed {
					attempts, text = 2, "theirsx"
				}
				assert.Equal(t, attempts, res.Attempts)
				assert.Equal(t, text, f.text(key))
			})
		}
	}
}

// If Token fails because another process holds the lock, fn handles the error, and its write is
// guarded.
func TestOnDemandTokenIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{LockOnDemand: true, MaxWait: time.Second})
		other := f.another(lockupdate.Config{})
		for _, own := range []error{nil, errRoomFull} {
			var held locking.Hold
			_, err := f.store.Update(t.Context(), testKey, func(ctx context.Context, _ rmw.Value) (rmw.Value, error) {
				held = f.hold(t.Context(), other, "s")
				_, err := locking.Token(ctx)
				require.ErrorIs(t, err, rmw.ErrContended)
				return rmw.String("x"), own
			})
			if own != nil {
				require.Equal(t, own, err, "an error of fn is returned as it is")
			} else {
				require.ErrorIs(t, err, rmw.ErrContended)
			}
			require.NoError(t, held.Unlock())
			lockupdate.Settle(other)
			f.settle()
			time.Sleep(2 * time.Second)
		}
		f.update(testKey, appendText("x"))
	})
}

// An fn that asks for a token keeps its place in front of the calls that joined behind it, also if it
// asks in vain, panics or runs again.
func TestOnDemandTokenKeepsItsPlace(t *testing.T) {
	for name, end := range map[string]func(f *fixture, attempt int){
		"return": func(*fixture, int) {},
		"panic":  func(*fixture, int) { panic("a bug") },
		"again": func(f *fixture, attempt int) {
			if attempt == 1 {
				f.writeBeside()
			}
		},
	} {
		for _, refused := range []bool{false, true} {
			bubbleWithKey(t, name, onDemand, func(t *testing.T, f *fixture, key rmw.Key) {
				other := f.another(lockupdate.Config{})
				var behind *pendingCall
				attempt := 0
				fn := func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					attempt++
					if behind == nil {
						var held locking.Hold
						if refused {
							held = f.hold(t.Context(), other, "s")
						}
						behind = start(t.Context(), f.store, key, appendText("2"))
						_, err := locking.Token(timeout(ctx, t, 50*time.Millisecond))
						if refused {
							assert.ErrorIs(t, err, context.DeadlineExceeded)
							require.NoError(t, held.Unlock())
						} else {
							assert.NoError(t, err)
						}
					}
					time.Sleep(time.Second)
					assert.False(t, behind.ended(), "the call behind has run")
					end(f, attempt)
					return rmw.String(cur.Text() + "1"), nil
				}
				func() {
					defer func() { _ = recover() }()
					_, err := f.store.Update(t.Context(), key, fn)
					assert.NoError(t, err)
				}()
				succeed(t, behind)
				assert.Equal(t, 1, behind.res.Attempts)
				assert.Equal(t, map[string]string{"return": "www12", "panic": "www2", "again": "theirs12"}[name], f.text(key))
				f.waitReleases()
				assert.False(t, f.hasLock("s"))
			})
		}
	}
}
