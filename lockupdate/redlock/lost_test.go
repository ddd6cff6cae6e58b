package redlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate/redlock"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// A reply that is lost on every node loses nothing: the lock is found to be ours.
func TestAcquireReplyLost(t *testing.T) {
	withThree(t, func(t *testing.T, f *fixture, p *process) {
		f.onAll("SET", proxytest.Fault{Action: proxytest.DropReply, Times: 1})
		began := time.Now()
		require.NoError(t, p.TryLock(t.Context(), "a", nothing), "it takes its own lock for another's")
		assert.Less(t, time.Since(began), nodeTimeout)
		synctest.Wait()
		assert.Equal(t, f.nobody(), f.holders("a"))
		for i := range f.nodes {
			assert.Equal(t, 2, f.count(i, "SET"))
			assert.Equal(t, 1, f.count(i, "GET"))
		}
	})
}

// A SET whose answer does not come leaves no lock behind, whenever it is executed
// and whether or not a majority was reached.
func TestNoOrphans(t *testing.T) {
	for name, fault := range map[string]proxytest.Fault{
		"reply lost":        {Action: proxytest.DropReply},
		"reply hangs":       {Action: proxytest.HangReply},
		"request hangs":     {Action: proxytest.HangRequest},
		"executed late":     {Action: proxytest.Delay, Delay: time.Second},
		"answered late":     {Action: proxytest.DelayReply, Delay: time.Second},
		"executed too late": {Action: proxytest.ExecuteLater, Delay: 2 * time.Second},
		"after an error":    {Action: proxytest.ExecuteLater, Delay: 2 * time.Second, Text: "ERR Connection reset by peer"},
	} {
		for _, nodes := range [][]int{{2}, {1, 2}, {0, 1, 2}} {
			bubble(t, name, func(t *testing.T) {
				f, p := three(t)
				for _, i := range nodes {
					remove := f.on(i, "SET", fault)
					defer remove()
				}
				err := p.TryLock(t.Context(), "a", nothing)
				if len(nodes) == 1 {
					require.NoError(t, err)
				} else if err != nil {
					require.ErrorIs(t, err, rmw.ErrUnavailable)
				}
				time.Sleep(lease - time.Millisecond) // or it would end by itself
				synctest.Wait()
				assert.Equal(t, f.nobody(), f.holders("a"), "left behind")
			})
		}
	}
}

// A node that is slow to grant is asked to give back after that, and once.
func TestSlowNode(t *testing.T) {
	withThree(t, func(t *testing.T, f *fixture, p *process) {
		f.on(2, "SET", proxytest.Fault{Action: proxytest.Delay, Delay: nodeTimeout / 2, Times: 1})
		began := time.Now()
		require.NoError(t, p.WithLock(t.Context(), "a", nothing))
		assert.Zero(t, time.Since(began), "the others are a majority")
		time.Sleep(nodeTimeout)
		assert.Equal(t, f.nobody(), f.holders("a"))
		assert.Equal(t, 1, f.count(2, "EVALSHA"))
	})
}

// A renewal that is still on its way when the lock is given back does not bring it
// back.
func TestLateRenewal(t *testing.T) {
	withThree(t, func(t *testing.T, f *fixture, p *process) {
		f.onAll("EVALSHA", proxytest.Fault{Action: proxytest.Delay, Delay: time.Second, Times: 1})
		require.NoError(t, p.WithLock(t.Context(), "a", func(context.Context) error {
			time.Sleep(lease/3 + 10*time.Millisecond) // they are on their way
			return nil
		}))
		time.Sleep(2 * time.Second)
		assert.Equal(t, f.nobody(), f.holders("a"))
	})
}

// A release that is lost is sent again; one that does not get through ends with
// the lease.
func TestReleaseLost(t *testing.T) {
	for action, within := range map[proxytest.Action]time.Duration{
		proxytest.DropRequest: time.Second, proxytest.DropReply: time.Second, proxytest.HangReply: time.Second,
	} {
		bubble(t, action.String(), func(t *testing.T) {
			f, p := three(t)
			other := f.open(redlock.Config{})
			f.onAll("EVALSHA", proxytest.Fault{Action: action, Times: 1})
			began := time.Now()
			require.NoError(t, p.WithLock(t.Context(), "a", nothing))
			assert.LessOrEqual(t, time.Since(began), nodeTimeout)
			require.NoError(t, other.WithLock(t.Context(), "a", nothing))
			assert.Less(t, time.Since(began), within)
		})
	}
}

// A ctx that ends while the nodes are asked ends the call at once, and what they
// grant after that is given back.
func TestCtxEndsWhileAsking(t *testing.T) {
	withThree(t, func(t *testing.T, f *fixture, p *process) {
		f.onAll("SET", proxytest.Fault{Action: proxytest.DelayReply, Delay: nodeTimeout / 2, Times: 1})
		ctx, cancel := context.WithTimeout(t.Context(), nodeTimeout/4)
		defer cancel()
		began := time.Now()
		err := p.WithLock(ctx, "a", nothing)
		assert.Equal(t, nodeTimeout/4, time.Since(began))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.NotErrorIs(t, err, rmw.ErrContended, "nobody was in the way")
		time.Sleep(nodeTimeout)
		assert.Equal(t, f.nobody(), f.holders("a"))
	})
}

// Close does not wait for the ghosts of SETs.
func TestCloseWithDoubts(t *testing.T) {
	withThree(t, func(t *testing.T, f *fixture, p *process) {
		f.on(0, "SET", proxytest.Fault{Action: proxytest.DropReply, Times: 1})
		require.NoError(t, p.WithLock(t.Context(), "a", nothing))
		synctest.Wait()
		began := time.Now()
		require.NoError(t, p.Close())
		assert.Less(t, time.Since(began), nodeTimeout)
		assert.Equal(t, f.nobody(), f.holders("a"))
	})
}
