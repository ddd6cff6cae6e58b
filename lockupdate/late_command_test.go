package lockupdate_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
			synctest.Wait() // the late commit is executed
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
