package lockupdate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// executedLate is a fault of Codis and twemproxy: the proxy reports an error for a command, and
// executes it later.
func executedLate(script string, after time.Duration) proxytest.Fault {
	return proxytest.Fault{Match: isScript(script), Action: proxytest.ExecuteLater, Delay: after, Text: connReset}
}

// An acknowledged update must not be applied twice. If a lost commit were sent again, the second
// could be acknowledged, and the first executed after another writer restored its base value.
func TestAcknowledgedUpdateIsFinal(t *testing.T) {
	for name, cfg := range map[string]lockupdate.Config{"default": {}, "sole writer": {SoleWriter: true}} {
		bubbleWithKey(t, name, cfg, func(t *testing.T, f *fixture, key rmw.Key) {
			f.proxy.Inject(executedLate("commit_string", time.Second))
			_, joined := f.store.Update(t.Context(), key, appendText("alice,"))
			f.update(key, put("www"))
			time.Sleep(10 * time.Second)
			if joined == nil {
				assert.Equal(t, "www", f.text(key), "alice left, and a late commit added her again")
			} else {
				require.ErrorIs(t, joined, rmw.ErrOutcomeUnknown)
			}
		})
	}
}

// A commit is sent once, whatever fails.
func TestCommitIsSentOnce(t *testing.T) {
	for _, action := range []proxytest.Action{proxytest.DropRequest, proxytest.DropReply, proxytest.HangReply} {
		bubbleWithKey(t, action.String(), lockupdate.Config{SoleWriter: true}, func(t *testing.T, f *fixture, key rmw.Key) {
			f.proxy.Inject(proxytest.Fault{Match: isScript("commit_string"), Action: action})
			_, err := f.store.Update(t.Context(), key, appendText("x"))
			if action == proxytest.DropRequest {
				require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
			} else {
				require.NoError(t, err, "it is found stored")
			}
			f.waitReleases()
			assert.Equal(t, 1, f.sent()["commit_string"])
		})
	}
}

// An acquire that is executed late takes the lock for an owner that does not use it. It must not
// block the key for a whole lease.
func TestLateAcquire(t *testing.T) {
	const lease = 10 * time.Second
	for _, after := range []time.Duration{100 * time.Millisecond, 2 * time.Second, 5 * time.Second} {
		bubbleWithKey(t, after.String(), lockupdate.Config{Lease: lease}, func(t *testing.T, f *fixture, key rmw.Key) {
			other := f.another(lockupdate.Config{Lease: lease})
			f.proxy.Inject(executedLate("acquire", after))
			f.update(key, appendText("x"))
			time.Sleep(after + time.Millisecond)
			began := time.Now()
			succeed(t, start(t.Context(), other, key, appendText("y")))
			assert.Less(t, time.Since(began), after+lease/16+100*time.Millisecond)
			assert.Equal(t, "wwwxy", f.text(key))
			time.Sleep(2 * lease)
			assert.False(t, f.hasLock(key.Name))
		})
	}
}

// An update that takes its lock again has a new owner id. So a late release of the old id cannot
// release the new lock.
func TestEachRoundHasItsOwnOwnerID(t *testing.T) {
	withKey(t, lockupdate.Config{Lease: time.Second}, func(t *testing.T, f *fixture, key rmw.Key) {
		stop := f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Times: -1, Action: proxytest.DropRequest})
		f.update(key, duringFirstCall(func() {
			time.Sleep(30 * time.Second)
			succeed(t, start(t.Context(), f.another(lockupdate.Config{}), key, appendText("theirs")))
		}, appendText("x")))
		stop()
		f.waitReleases()
		owners := map[string]bool{}
		for _, c := range f.proxy.Calls() {
			if lockupdate.ScriptName(c.Args) == "acquire" {
				owners[c.Args[4]] = true
			}
		}
		assert.Len(t, owners, 3, "two rounds, and the other Store")
	})
}

// The next update of the same process does not wait for a release in flight. A late release does
// not delete the lock of the new owner.
func TestTakeover(t *testing.T) {
	for name, fault := range map[string]proxytest.Fault{
		"request lost":  {Action: proxytest.DropRequest},
		"request hangs": {Action: proxytest.HangRequest},
		"reply hangs":   {Action: proxytest.HangReply},
		"delayed":       {Action: proxytest.Delay, Delay: 2 * time.Second},
		"late":          {Action: proxytest.ExecuteLater, Delay: time.Second, Text: connReset},
		"late, cut":     {Action: proxytest.ExecuteLater, Delay: 30 * time.Second},
	} {
		for _, commit := range []lockupdate.Commit{lockupdate.CommitGuarded, lockupdate.CommitIFEQ} {
			cfg := lockupdate.Config{Commit: commit}
			bubbleWithKey(t, fmt.Sprint(name, ", ", commit), cfg, func(t *testing.T, f *fixture, key rmw.Key) {
				other := f.another(cfg)
				fault.Match = isRequest("release")
				f.proxy.Inject(fault)
				f.update(key, appendText("1"))
				began := time.Now()
				gate := make(chan struct{})
				second := start(t.Context(), f.store, key, until(gate, appendText("2")))
				time.Sleep(4 * time.Second) // the late release is executed
				third := start(t.Context(), other, key, appendText("3"))
				time.Sleep(time.Second)
				assert.False(t, third.ended(), "the second update has lost its lock")
				close(gate)
				succeed(t, second)
				assert.Zero(t, second.res.Waited)
				assert.Equal(t, 1, second.res.Attempts)
				assert.Equal(t, 5*time.Second, second.at.Sub(began))
				succeed(t, third)
				assert.Less(t, third.at.Sub(second.at), 100*time.Millisecond)
				assert.Equal(t, "www123", f.text(key))
				time.Sleep(time.Minute)
				assert.False(t, f.hasLock(key.Name))
			})
		}
	}
}

// A lock for which another process waits is not taken over.
func TestNoTakeoverFromWaiters(t *testing.T) {
	long.Repeats(t)
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		other := f.another(lockupdate.Config{})
		for round := range 10 {
			gate := make(chan struct{})
			first := start(t.Context(), f.store, key, until(gate, appendText("1")))
			waiter := start(t.Context(), other, key, appendText("2"))
			time.Sleep(20 * time.Millisecond)
			f.proxy.Inject(proxytest.Fault{Match: isScript("release"), Action: proxytest.Delay, Delay: 10 * time.Millisecond})
			close(gate)
			<-first.done
			synctest.Wait() // the release is in flight
			last := start(t.Context(), f.store, key, appendText("3"))
			succeed(t, waiter, last)
			require.Equal(t, "www"+strings.Repeat("123", round+1), f.text(key))
			assert.Positive(t, last.res.Waited)
		}
	})
}

// A late acquire of the last owner, while its release is in flight, delays other processes no more
// than any lost acquire.
func TestTakeoverAfterALateAcquire(t *testing.T) {
	const lease = 10 * time.Second
	withKey(t, lockupdate.Config{Lease: lease}, func(t *testing.T, f *fixture, key rmw.Key) {
		other := f.another(lockupdate.Config{Lease: lease})
		f.proxy.Inject(executedLate("acquire", 50*time.Millisecond)) // the retry is granted
		f.proxy.Inject(proxytest.Fault{Match: isScript("release"), Action: proxytest.DropRequest})
		for _, s := range []string{"1", "2", "3"} {
			f.update(key, appendText(s))
		}
		time.Sleep(60 * time.Millisecond) // the late acquire is executed
		began := time.Now()
		_, err := other.Update(t.Context(), key, appendText("4"))
		require.NoError(t, err)
		assert.Less(t, time.Since(began), lease/16+200*time.Millisecond)
		f.update(key, appendText("5"))
		assert.Equal(t, "www12345", f.text(key))
		time.Sleep(2 * lease)
		assert.False(t, f.hasLock(key.Name))
	})
}

// A takeover whose reply is lost is retried, and found done.
func TestTakeoverReplyLost(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		f.proxy.Inject(proxytest.Fault{Match: isScript("release"), Action: proxytest.HangRequest})
		f.update(key, appendText("1"))
		f.proxy.Inject(proxytest.Fault{Match: isScript("acquire"), Action: proxytest.DropReply})
		began := time.Now()
		f.update(key, appendText("2"))
		assert.Less(t, time.Since(began), 10*time.Millisecond)
		f.waitReleases()
		assert.Equal(t, "www12", f.text(key))
		assert.False(t, f.hasLock(key.Name))
	})
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

const lingerTime = 5 * time.Millisecond

// hasLock reports whether the lock of a key exists.
func (f *fixture) hasLock(name string) bool {
	return f.direct().Exists(f.t.Context(), lock+name).Val() == 1
}

// While the lock lingers, an update takes one round trip and one command.
func TestLingeringLockCostsOneRoundTrip(t *testing.T) {
	for name, fn := range map[string]rmw.UpdateFunc{"written": appendText("2"), "unchanged": keep, "aborted": abort} {
		lingering(t, name, func(t *testing.T, f *fixture, key rmw.Key) {
			time.Sleep(lingerTime - time.Millisecond)
			start := f.meter.Read()
			_, err := f.store.Update(t.Context(), key, fn)
			assert.Contains(t, []error{nil, errRoomFull}, err)
			assert.EqualValues(t, 1, f.meter.Read().Sub(start).RoundTrips)
			assert.Equal(t, 1, f.total(), f.calls())
		})
	}
}

// The lock is released after Config.Linger, and by Close at once.
func TestLingerEnds(t *testing.T) {
	lingering(t, "by itself", func(t *testing.T, f *fixture, key rmw.Key) {
		time.Sleep(lingerTime - time.Millisecond)
		assert.True(t, f.hasLock(key.Name))
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		assert.False(t, f.hasLock(key.Name))
		assert.Equal(t, 1, f.sent()["release"])
	})
	lingering(t, "by Close", func(t *testing.T, f *fixture, key rmw.Key) {
		began := time.Now()
		require.NoError(t, f.store.Close())
		assert.Zero(t, time.Since(began))
		assert.False(t, f.hasLock(key.Name))
	})
}

// An update under a lingering lock sees foreign writes: the guard refuses its commit, or a read
// validates an fn that writes nothing or fails, and must succeed. In fake time all may have one time.
func TestLingerDetectsForeignWrites(t *testing.T) {
	for name, fn := range map[string]rmw.UpdateFunc{
		"writes": appendText("2"), "keeps": keep, "fails": func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			if cur.Text() != "theirs" {
				return abort(ctx, cur)
			}
			return cur, nil
		},
	} {
		lingering(t, name, func(t *testing.T, f *fixture, key rmw.Key) {
			f.writeBeside()
			res := f.update(key, fn)
			assert.Equal(t, 2, res.Attempts)
			assert.Equal(t, "theirs", res.Before.Text())
		})
	}
	lingering(t, "cannot tell", func(t *testing.T, f *fixture, key rmw.Key) {
		f.proxy.Inject(proxytest.Fault{Match: isScript("read"), Times: 3, Action: proxytest.DropRequest})
		_, err := f.store.Update(t.Context(), key, keep)
		require.ErrorIs(t, err, rmw.ErrUnavailable)
	})
}

// lingering runs a test in a bubble, with a fixture that has just updated key and still holds its lock.
func lingering(t *testing.T, name string, test func(t *testing.T, f *fixture, key rmw.Key)) {
	t.Helper()
	bubbleWithKey(t, name, lockupdate.Config{Linger: lingerTime}, func(t *testing.T, f *fixture, key rmw.Key) {
		f.update(key, appendText("1"))
		f.proxy.ResetCalls()
		test(t, f, key)
	})
}
