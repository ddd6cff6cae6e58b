package lockupdate_test

import (
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
