package redlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate/redlock"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// A majority that comes when too little of the lease is left is of no use.
func TestLateMajority(t *testing.T) {
	for late, want := range map[time.Duration]error{usable - 2*time.Millisecond: nil, usable: rmw.ErrUnavailable} {
		withThree(t, func(t *testing.T, f *fixture, p *process) {
			f.on(0, "SET", proxytest.Fault{Action: proxytest.None, Times: 1, Do: func() { p.Stall(late) }})
			f.on(1, "SET", proxytest.Fault{Action: proxytest.DelayReply, Delay: time.Millisecond, Times: 1})
			f.on(2, "SET", proxytest.Fault{Action: proxytest.DelayReply, Delay: time.Millisecond, Times: 1})
			require.ErrorIs(t, p.TryLock(t.Context(), "a", func(ctx context.Context) error { return ctx.Err() }), want)
			synctest.Wait()
			assert.Equal(t, f.nobody(), f.holders("a"))
		})
	}
}

// One lock that cannot be renewed is in jeopardy, and then lost. The locks beside it are safe.
func TestRenewalOfOneLockFails(t *testing.T) {
	withThree(t, func(t *testing.T, f *fixture, p *process) {
		bad, err := p.Lock(t.Context(), "bad")
		require.NoError(t, err)
		good, err := p.Lock(t.Context(), "good")
		require.NoError(t, err)
		synctest.Wait()
		f.takeAway("bad", 0) // a node that came back empty
		p.cut(1)             // and another that is down
		time.Sleep(lease/2 + time.Millisecond)
		assert.Equal(t, lock.Jeopardy, lock.StateOf(bad.Context()))
		assert.Equal(t, lock.Safe, lock.StateOf(good.Context()))
		time.Sleep(lease)
		assert.ErrorIs(t, bad.Unlock(), rmw.ErrLockLost)
		require.NoError(t, good.Unlock())
	})
}

// Inspect shows the owner that a majority of the nodes has, and says so if too many of them are silent.
func TestInspect(t *testing.T) {
	withThree(t, func(t *testing.T, f *fixture, p *process) {
		other := f.open(redlock.Config{})
		require.NoError(t, p.WithLock(t.Context(), "a", func(ctx context.Context) error {
			holder, err := lock.SequencerOf(ctx)
			require.NoError(t, err)
			assert.Zero(t, holder.Token)
			synctest.Wait()
			for _, down := range [][]int{nil, {0}, {1}} {
				restore := other.cut(down...)
				info, err := other.Inspect(ctx, "a")
				require.NoError(t, err)
				assert.Equal(t, lock.Info{Held: true, Sequencer: holder}, info)
				require.NoError(t, other.Check(ctx, holder))
				restore()
			}
			f.takeAway("a", 0) // the majority is nodes 1 and 2
			restore := other.cut(1)
			_, err = other.Inspect(ctx, "a")
			require.ErrorIs(t, err, rmw.ErrUnavailable, "node 1 may have it or not")
			restore()
			f.takeAway("a", 1)
			info, err := other.Inspect(ctx, "a")
			require.NoError(t, err)
			assert.Equal(t, lock.Info{Sequencer: lock.Sequencer{Name: "a"}}, info, "a minority is not enough")
			require.ErrorIs(t, other.Check(ctx, holder), rmw.ErrLockLost)
			return nil
		}))
	})
}

// The late releases of a failed attempt do not free the lock that the next attempt has taken.
func TestAttemptsHaveOwnersOfTheirOwn(t *testing.T) {
	withThree(t, func(t *testing.T, f *fixture, p *process) {
		for _, i := range []int{0, 1} {
			require.NoError(t, f.nodes[i].Engine(0).Set("a", "another"))
		}
		f.on(2, "SET", proxytest.Fault{Action: proxytest.DropReply, Times: 1})
		time.AfterFunc(time.Millisecond, func() { f.takeAway("a", 0, 1) })
		require.NoError(t, p.WithLock(t.Context(), "a", func(context.Context) error {
			synctest.Wait() // two nodes grant the lock, perhaps before this one was asked
			assert.GreaterOrEqual(t, f.count(0, "SET"), 2, "the first attempt failed")
			for range 20 {
				time.Sleep(lease / 20)
				owners := f.holders("a")
				assert.Equal(t, []string{owners[0], owners[0], owners[0]}, owners)
			}
			return nil
		}))
	})
}
