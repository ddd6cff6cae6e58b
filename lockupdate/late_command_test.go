package lockupdate_test

import (
	"context"
	"strings"
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
	return proxytest.Fault{
		Match: isScript(script), Action: proxytest.ExecuteLater, Delay: after,
		Text: connReset,
	}
}

func join(_ context.Context, cur rmw.Value) (rmw.Value, error) {
	return rmw.String(cur.Text() + "alice,"), nil
}

func leave(_ context.Context, cur rmw.Value) (rmw.Value, error) {
	return rmw.String(strings.ReplaceAll(cur.Text(), "alice,", "")), nil
}

// An acknowledged update must not be applied twice. If a lost commit were sent again, the second
// could be acknowledged, and the first executed after another writer restored its base value.
func TestAcknowledgedUpdateIsFinal(t *testing.T) {
	for name, cfg := range map[string]lockupdate.Config{"default": {}, "sole writer": {SoleWriter: true}} {
		bubbleWith(t, name, cfg, func(t *testing.T, f *fixture) {
			key := rmw.Key{Name: "room"}
			f.warm(key)
			f.proxy.Inject(executedLate("commit_string", time.Second))
			_, joined := f.store.Update(t.Context(), key, join)
			f.update(key, leave)
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
		bubbleWith(t, action.String(), lockupdate.Config{SoleWriter: true}, func(t *testing.T, f *fixture) {
			key := rmw.Key{Name: "room"}
			f.warm(key)
			f.proxy.Inject(proxytest.Fault{Match: isScript("commit_string"), Action: action})
			_, err := f.store.Update(t.Context(), key, join)
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
	for _, after := range []time.Duration{100 * time.Millisecond, 2 * time.Second, 5 * time.Second} {
		bubble(t, after.String(), func(t *testing.T) {
			const lease = 10 * time.Second
			f := newFixture(t, lockupdate.Config{Lease: lease})
			other := f.another(lockupdate.Config{Lease: lease})
			key := rmw.Key{Name: "room"}
			f.warm(key)
			f.proxy.Inject(executedLate("acquire", after))
			f.update(key, join)
			time.Sleep(after + time.Millisecond)
			began := time.Now()
			_, err := other.Update(t.Context(), key, leave)
			require.NoError(t, err)
			assert.Less(t, time.Since(began), after+lease/16+100*time.Millisecond)
			assert.Equal(t, "www", f.text(key))
			time.Sleep(2 * lease)
			assert.False(t, f.hasLock(key.Name))
		})
	}
}

// An update that takes its lock again has a new owner id. So a late release of the old id cannot
// release the new lock.
func TestEachRoundHasItsOwnOwnerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Lease: time.Second})
		other := f.another(lockupdate.Config{})
		key := rmw.Key{Name: "room"}
		f.warm(key)
		stop := f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Times: -1, Action: proxytest.DropRequest})
		_, err := f.store.Update(t.Context(), key, duringFirstCall(func() {
			time.Sleep(30 * time.Second)
			_, err := other.Update(t.Context(), key, join)
			require.NoError(t, err)
			lockupdate.Settle(other)
		}, appendText("x")))
		stop()
		require.NoError(t, err)
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
