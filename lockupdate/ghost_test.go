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

// A ghost is a command that a proxy executes after the client has been told that
// it failed. Codis and twemproxy both do that.
func ghost(script string, after time.Duration) proxytest.Fault {
	return proxytest.Fault{
		Match: isScript(script), Action: proxytest.ExecuteLater, Delay: after,
		Text: "ERR handle response, backend conn reset",
	}
}

func join(_ context.Context, cur rmw.Value) (rmw.Value, error) {
	return rmw.String(cur.Text() + "alice,"), nil
}

func leave(_ context.Context, cur rmw.Value) (rmw.Value, error) {
	return rmw.String(strings.ReplaceAll(cur.Text(), "alice,", "")), nil
}

// An update that was acknowledged is over. Were a lost commit sent again, the
// second could be acknowledged, and the first still find the value that it expects
// once somebody has put it back.
func TestAcknowledgedIsOver(t *testing.T) {
	for name, cfg := range map[string]lockupdate.Config{"default": {}, "sole writer": {SoleWriter: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, cfg)
				key := rmw.Key{Name: "room"}
				f.warm(key)
				f.proxy.Inject(ghost("commit_string", time.Second))
				_, joined := f.store.Update(t.Context(), key, join)
				_, err := f.store.Update(t.Context(), key, leave)
				require.NoError(t, err)
				time.Sleep(10 * time.Second)
				if joined == nil {
					assert.Equal(t, "www", f.text(key), "alice left, and is back without anybody's doing")
				} else {
					require.ErrorIs(t, joined, rmw.ErrOutcomeUnknown)
				}
			})
		})
	}
}

// A commit is sent once, whatever becomes of it.
func TestCommitIsSentOnce(t *testing.T) {
	for _, action := range []proxytest.Action{proxytest.DropRequest, proxytest.DropReply, proxytest.HangReply} {
		t.Run(action.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, lockupdate.Config{SoleWriter: true})
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
				commits := 0
				for _, name := range f.calls() {
					if name == "commit_string" {
						commits++
					}
				}
				assert.Equal(t, 1, commits)
			})
		})
	}
}

// An acquire that is executed late takes the lock for an owner that is gone. That
// must not block the key for a whole lease.
func TestGhostAcquire(t *testing.T) {
	for _, after := range []time.Duration{100 * time.Millisecond, 2 * time.Second, 5 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const lease = 10 * time.Second
				f := newFixture(t, lockupdate.Config{Lease: lease})
				other := f.another(lockupdate.Config{Lease: lease})
				key := rmw.Key{Name: "room"}
				f.warm(key)
				f.proxy.Inject(ghost("acquire", after))
				_, err := f.store.Update(t.Context(), key, join)
				require.NoError(t, err)
				time.Sleep(after + time.Millisecond)
				began := time.Now()
				_, err = other.Update(t.Context(), key, leave)
				require.NoError(t, err)
				assert.Less(t, time.Since(began), after+lease/16+100*time.Millisecond)
				assert.Equal(t, "www", f.text(key))
				time.Sleep(2 * lease)
				assert.Zero(t, f.direct().Exists(t.Context(), lock+key.Name).Val())
			})
		})
	}
}

// The next round of an update is another owner: the late release of the first must
// not take its lock away.
func TestEachRoundIsAnOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Lease: time.Second})
		other := f.another(lockupdate.Config{})
		key := rmw.Key{Name: "room"}
		f.warm(key)
		stop := f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Times: -1, Action: proxytest.DropRequest})
		_, err := f.store.Update(t.Context(), key, behindItsBack(func() {
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
		assert.Len(t, owners, 3, "two rounds, and the other store's")
	})
}
