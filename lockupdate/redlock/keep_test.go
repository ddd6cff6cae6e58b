package redlock_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate/redlock"
	"github.com/unwatch/unwatch/rmw"
)

const (
	drift  = lease/100 + 2*time.Millisecond
	usable = lease - drift - lease/20
)

// A lock is renewed at each third for as long as fn runs, also by a bare majority.
func TestRenewed(t *testing.T) {
	withThree(t, func(t *testing.T, f *fixture, p *process) {
		p.cut(0)
		require.NoError(t, p.WithLock(t.Context(), "a", func(ctx context.Context) error {
			for range 8 {
				time.Sleep(lease/3 + time.Millisecond)
				synctest.Wait()
				assert.NoError(t, ctx.Err())
				assert.Greater(t, f.nodes[1].Engine(0).TTL("a"), lease-100*time.Millisecond)
			}
			return nil
		}))
		assert.Equal(t, 8+1, f.count(1, "EVALSHA"))
	})
}

// lostAfter holds a lock, has it sabotaged, and returns when fn's ctx ended.
func lostAfter(t *testing.T, f *fixture, p *process, sabotage func()) time.Duration {
	t.Helper()
	var after time.Duration
	began := time.Now()
	err := p.WithLock(t.Context(), "a", func(ctx context.Context) error {
		synctest.Wait()
		sabotage()
		<-ctx.Done()
		after = time.Since(began)
		assert.ErrorIs(t, context.Cause(ctx), rmw.ErrLockLost)
		return nil
	})
	require.ErrorIs(t, err, rmw.ErrLockLost)
	return after
}

// A majority that cannot be reached any more ends fn's ctx before the validity of
// the lock ends; a minority does not.
func TestMajorityLostWhileHeld(t *testing.T) {
	eachOutage(t, func(t *testing.T, f *fixture, p *process, down func(command string, nodes ...int)) {
		after := lostAfter(t, f, p, func() { down("EVALSHA", 0, 1) })
		assert.Equal(t, usable, after)
		assert.Less(t, after, lease-drift, "before the validity ends")
	})
}

// A majority that says that the lock is gone ends fn's ctx at the next renewal.
func TestMajorityTakenAway(t *testing.T) {
	withThree(t, func(t *testing.T, f *fixture, p *process) {
		assert.Equal(t, lease/3, lostAfter(t, f, p, func() { f.takeAway("a", 0, 2) }))
	})
}

// A node that has lost the lock does not get it back by a renewal: it may have
// granted it to another meanwhile.
func TestRenewalDoesNotRecreate(t *testing.T) {
	withThree(t, func(t *testing.T, f *fixture, p *process) {
		require.NoError(t, p.WithLock(t.Context(), "a", func(ctx context.Context) error {
			synctest.Wait()
			f.takeAway("a", 1)
			time.Sleep(3 * lease)
			assert.NoError(t, ctx.Err(), "two of three are enough")
			owners := f.holders("a")
			assert.Equal(t, []string{owners[0], "", owners[0]}, owners)
			require.NoError(t, f.nodes[1].Engine(0).Set("a", "another"))
			time.Sleep(lease)
			assert.NoError(t, ctx.Err())
			return nil
		}))
		synctest.Wait()
		assert.Equal(t, []string{"", "another", ""}, f.holders("a"), "nor is another's lock given back")
	})
}

// hurry has the nodes' clocks run fast, by so many percent.
func (f *fixture) hurry(percent time.Duration) {
	var clocks sync.WaitGroup
	stop := make(chan struct{})
	clocks.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-stop:
				return
			}
			for _, n := range f.nodes {
				n.Engine(0).FastForward(percent * time.Millisecond)
			}
		}
	})
	f.t.Cleanup(func() { close(stop); clocks.Wait() })
}

// Nodes whose clocks run fast end the lock early. Within Drift, fn's ctx has ended
// by then; without, there are two holders: so Drift is what prevents it.
func TestDrift(t *testing.T) {
	for name, c := range map[string]struct {
		drift    time.Duration
		overlaps bool
	}{"allowed for": {lease / 8, false}, "not allowed for": {1, true}} {
		bubble(t, name, func(t *testing.T) {
			f := newFixture(t, 3)
			p, other := f.open(redlock.Config{Drift: c.drift}), f.open(redlock.Config{Drift: c.drift})
			f.warm(p)
			f.warm(other)
			f.hurry(12)
			_ = p.WithLock(t.Context(), "a", func(ctx context.Context) error {
				p.cut(0, 1, 2)
				require.NoError(t, other.WithLock(t.Context(), "a", func(context.Context) error {
					assert.Equal(t, c.overlaps, ctx.Err() == nil, "both hold the lock")
					return nil
				}))
				return nil
			})
		})
	}
}
