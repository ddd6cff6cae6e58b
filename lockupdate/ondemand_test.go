package lockupdate_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

var onDemand = lockupdate.Config{LockOnDemand: true}

// With WaitForReply, a call whose command hangs returns up to ReadTimeout after the end of its ctx.
// Nothing else of the contract changes.
func TestWaitForReply(t *testing.T) {
	late := map[string]bool{"hang": true, "peek-survives": true, "tx-ctx-ends": true}
	for name, cfg := range map[string]lockupdate.Config{
		"locked":    {WaitForReply: true},
		"on demand": {LockOnDemand: true, WaitForReply: true},
	} {
		b := newBench(proxycompat.Codis32(), cfg)
		for _, clause := range rmwtest.Clauses() {
			bubble(t, name+"/"+clause.Name, func(t *testing.T) {
				if cfg.LockOnDemand {
					long.Repeats(t)
				}
				err := clause.Check(t.Context(), b.Target(t))
				if !late[clause.Name] || err == nil {
					require.NoError(t, err)
					return
				}
				for line := range strings.SplitSeq(err.Error(), "\n") {
					if !strings.HasPrefix(line, "… and ") {
						assert.Contains(t, line, "returned 5s after it began, its ctx ended after 100ms")
					}
				}
			})
		}
	}
}

// A program that writes under the lock without a guard, as with Redisson's RLock, loses its write
// to an update on demand. An update under the lock waits for it.
func TestOnDemandAndAnUnguardedWriter(t *testing.T) {
	for _, cfg := range []lockupdate.Config{{}, onDemand} {
		withFixture(t, cfg, func(t *testing.T, f *fixture) {
			direct := f.direct()
			release := make(chan struct{})
			var writer sync.WaitGroup
			// The writer reads, and takes the lock after the update has looked at it.
			f.update(testKey, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				writer.Go(func() {
					for direct.Exists(t.Context(), lock+"s").Val() > 0 {
						time.Sleep(time.Millisecond)
					}
					assert.NoError(t, direct.HSet(t.Context(), lock+"s", "redisson", 1).Err())
					was := direct.Get(t.Context(), "s").Val()
					<-release
					assert.NoError(t, direct.Set(t.Context(), "s", was+"writer,", 0).Err())
					assert.NoError(t, direct.Del(t.Context(), lock+"s").Err())
				})
				synctest.Wait()
				return rmw.String(cur.Text() + "update,"), nil
			})
			time.Sleep(time.Second) // without LockOnDemand, the writer takes the lock now
			close(release)
			writer.Wait()
			if cfg.LockOnDemand {
				assert.Equal(t, "writer,", f.text(testKey), "the acknowledged update is lost")
			} else {
				assert.Equal(t, "update,writer,", f.text(testKey))
			}
		})
	}
}

// An update takes the lock after a refused commit, while another process holds the lock, and for a
// second after that.
func TestOnDemandTakesTheLock(t *testing.T) {
	withKey(t, onDemand, func(t *testing.T, f *fixture, key rmw.Key) {
		other := f.another(onDemand)
		require.NoError(t, other.WithLock(t.Context(), "s", func(context.Context) error {
			ctx := timeout(t.Context(), t, 50*time.Millisecond)
			res, err := f.store.Update(ctx, key, appendText("x"))
			assert.ErrorIs(t, err, rmw.ErrContended)
			assert.Zero(t, res.Attempts, "fn does not run while another process holds the lock")
			return nil
		}))
		lockupdate.Settle(other)
		f.settle()
		for _, tc := range []struct {
			fn   rmw.UpdateFunc
			sent []string
		}{
			{appendText("x"), []string{"acquire", "read", "commit_string", "release"}},
			{appendText("x"), []string{"read", "EXISTS", "commit_string"}},
			{duringFirstCall(f.writeBeside, appendText("+x")),
				[]string{"read", "EXISTS", "SET", "commit_string", "acquire", "read", "commit_string", "release"}},
		} {
			f.update(key, tc.fn)
			f.waitReleases()
			assert.Equal(t, tc.sent, f.calls())
			time.Sleep(time.Second)
			f.settle()
		}
		assert.Equal(t, "theirs+x", f.text(key))
	})
}

// A goroutine that updates a key without a pause stops taking the lock a second after the
// contention. The release in flight of each update does not prolong that.
func TestOnDemandAfterContention(t *testing.T) {
	withFixture(t, onDemand, func(t *testing.T, f *fixture) {
		f.proxy.Inject(proxytest.Fault{Match: isScript("release"), Times: -1, Action: proxytest.Delay, Delay: time.Millisecond})
		key := f.warmKey()
		f.update(key, duringFirstCall(f.writeBeside, appendText("x")))
		update := func() { f.update(key, after(10*time.Millisecond, put("x"))) }
		for began := time.Now(); time.Since(began) < 1100*time.Millisecond; {
			update()
		}
		f.proxy.ResetCalls()
		for range 10 {
			update()
		}
		assert.NotContains(t, f.calls(), "acquire")
	})
}

// MaxHold ends the ctx of fn, and the next call runs.
func TestOnDemandMaxHold(t *testing.T) {
	withFixture(t, lockupdate.Config{LockOnDemand: true, MaxHold: time.Second}, func(t *testing.T, f *fixture) {
		began := time.Now()
		first := start(t.Context(), f.store, testKey, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			<-ctx.Done()
			assert.LessOrEqual(t, time.Since(began), time.Second)
			assert.ErrorIs(t, context.Cause(ctx), rmw.ErrLockLost)
			time.Sleep(time.Minute)
			return rmw.String(cur.Text() + "late"), nil
		})
		f.update(testKey, appendText("x"))
		assert.Less(t, time.Since(began), 1100*time.Millisecond)
		wait(first)
		require.ErrorIs(t, first.err, rmw.ErrLockLost)
		assert.Equal(t, "x", f.text(testKey))
	})
}

// Close waits for an update whose fn has run, even if its commit is refused and it has to wait for
// the lock.
func TestOnDemandClose(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		s, other := lockupdate.New(f.rdb, onDemand), f.another(lockupdate.Config{})
		var closing *pendingCall
		_, err := s.Update(t.Context(), testKey, duringFirstCall(func() {
			held := f.hold(t.Context(), other, "s")
			f.writeBeside()
			closing = startClose(s)
			time.AfterFunc(time.Second, func() { assert.NoError(t, held.Unlock()) })
		}, appendText("x")))
		require.NoError(t, err)
		succeed(t, closing)
		assert.Equal(t, "theirsx", f.text(testKey))
	})
}

// An fn without the lock has no token and no critical section. Within a WithLock of the key it has both.
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
		bubbleWithKey(t, name, onDemand, func(t *testing.T, f *fixture, key rmw.Key) {
			var err error
			fn := func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				err = take(ctx, f.store)
				return rmw.String(cur.Text() + "x"), nil
			}
			f.update(key, fn)
			require.ErrorIs(t, err, rmw.ErrUnsupported)
			assert.ErrorContains(t, err, "call Update within a WithLock of the same key")
			require.NoError(t, f.store.WithLock(t.Context(), key.Name, func(ctx context.Context) error {
				_, err := f.store.Update(ctx, key, fn)
				return err
			}))
			require.NoError(t, err)
			assert.Equal(t, "wwwxx", f.text(key))
			f.waitReleases()
			assert.False(t, f.hasLock("s"))
		})
	}
}

// Calls that arrive while a release is in flight go on at its reply, and not after a poll interval.
func TestOnDemandDuringRelease(t *testing.T) {
	withKey(t, onDemand, func(t *testing.T, f *fixture, key rmw.Key) {
		f.slow(time.Millisecond)
		hold := f.hold(t.Context(), f.store, "s")
		require.NoError(t, hold.Unlock())
		began := time.Now()
		var calls []*pendingCall
		for range 2 {
			time.Sleep(100 * time.Microsecond)
			calls = append(calls, start(t.Context(), f.store, key, appendText("x")))
		}
		succeed(t, calls...)
		assert.Less(t, time.Since(began), 10*time.Millisecond)
	})
}
