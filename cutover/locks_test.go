package cutover_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/lock/locktest"
	"github.com/unwatch/unwatch/rmw"
)

// services are two lock services in memory.
func services() (open func(stage cutover.Source) *cutover.Locks, old, new *locktest.Memory) {
	old, new = locktest.NewMemory(driver.Config{}), locktest.NewMemory(driver.Config{})
	return func(stage cutover.Source) *cutover.Locks { return cutover.NewLocks(old.Peer(), new.Peer(), stage) }, old, new
}

// The network faults are those of a process that neither service can hear. Each of the two clocks stalls
// alone: the Locker must ask both.
func TestLocks(t *testing.T) {
	for side, name := range []string{"old stalls", "new stalls"} {
		t.Run(name, func(t *testing.T) {
			if side > 0 {
				long.Repeats(t)
			}
			locktest.RunFake(t, func(*testing.T) locktest.Target {
				_, old, new := services()
				peers := map[lock.Locker][2]*locktest.Memory{}
				both := func(fault func(m *locktest.Memory) func()) func(l lock.Locker) func() {
					return func(l lock.Locker) func() {
						ends := [2]func(){fault(peers[l][0]), fault(peers[l][1])}
						return func() { ends[0](); ends[1]() }
					}
				}
				return locktest.Target{
					Open: func(tb testing.TB) lock.Locker {
						mine := [2]*locktest.Memory{old.Peer(), new.Peer()}
						tb.Cleanup(func() { _, _ = mine[0].Close(), mine[1].Close() })
						l := cutover.NewLocks(mine[0], mine[1], forward)
						peers[l] = mine
						return l
					},
					Reentrant: true, Tokens: true, Lease: 10 * time.Second,
					Faults: locktest.Faults{
						TakeAway: func(ctx context.Context, name string) error {
							return errors.Join(old.TakeAway(ctx, name), new.TakeAway(ctx, name))
						},
						Cut:       both((*locktest.Memory).Cut),
						LoseReply: both((*locktest.Memory).LoseReply),
						Late:      both((*locktest.Memory).Late),
						Stall:     func(l lock.Locker, d time.Duration) { peers[l][side].Stall(d) },
					},
				}
			})
		})
	}
}

// Lock holds both locks until Unlock. If one cannot be taken, none is.
func TestLockHoldsBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open, old, new := services()
		locks := open(forward)
		free := func() (names []string) {
			for name, l := range map[string]*locktest.Memory{"old": old, "new": new} {
				if l.TryLock(t.Context(), "section", func(context.Context) error { return nil }) == nil {
					names = append(names, name)
				}
			}
			return names
		}
		h, err := locks.Lock(t.Context(), "section")
		require.NoError(t, err)
		assert.Empty(t, free())
		require.NoError(t, h.Unlock())
		assert.Len(t, free(), 2)

		require.NoError(t, new.WithLock(t.Context(), "section", func(context.Context) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := locks.Lock(ctx, "section")
			require.ErrorIs(t, err, rmw.ErrContended)
			assert.Equal(t, []string{"old"}, free())
			return nil
		}))
		_, err = open(cutover.Stage{Phase: 99}).Lock(t.Context(), "section")
		require.ErrorIs(t, err, rmw.ErrInvalid)
	})
}

// The Sequencer is that of the lock whose token counts, and the State the worse of both. The loss of either lock ends the
// section.
func TestSequencerAndStateOfBoth(t *testing.T) {
	for i, side := range []string{"old", "new"} {
		t.Run(side, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				old, new := locktest.NewMemory(driver.Config{}), locktest.NewMemory(driver.Config{})
				h, err := cutover.NewLocks(old, new, forward).Lock(t.Context(), "section")
				require.NoError(t, err)
				seq, err := lock.SequencerOf(h.Context())
				require.NoError(t, err)
				require.NoError(t, old.Check(t.Context(), seq))
				require.ErrorIs(t, new.Check(t.Context(), seq), rmw.ErrLockLost)
				token, err := lock.Token(h.Context())
				require.NoError(t, err)
				assert.Equal(t, token, seq.Token)
				assert.Equal(t, lock.Safe, lock.StateOf(h.Context()))

				restore := []*locktest.Memory{old, new}[i].Cut()
				time.Sleep(6 * time.Second)
				assert.Equal(t, lock.Jeopardy, lock.StateOf(h.Context()))
				time.Sleep(6 * time.Second)
				assert.Equal(t, lock.Lost, lock.StateOf(h.Context()))
				_, err = lock.SequencerOf(h.Context())
				require.ErrorIs(t, err, rmw.ErrLockLost)
				_, err = lock.Token(h.Context())
				require.ErrorIs(t, err, rmw.ErrLockLost)
				require.Error(t, h.Context().Err())
				require.ErrorIs(t, context.Cause(h.Context()), rmw.ErrLockLost)
				restore()
				require.ErrorIs(t, h.Unlock(), rmw.ErrLockLost)
				require.NoError(t, errors.Join(old.Close(), new.Close()))
			})
		})
	}
}

// Processes at neighbouring stages exclude each other.
func TestSectionsExcludeEachOther(t *testing.T) {
	free := func(context.Context) error { return nil }
	for name, tc := range map[string]struct {
		stages   [2]cutover.Stage
		overlaps bool
	}{
		"follow and copying":   {[2]cutover.Stage{follow, forward}, false},
		"copying and reverse":  {[2]cutover.Stage{forward, reverse}, false},
		"copying and complete": {[2]cutover.Stage{forward, complete}, false},
		// Negative control: they have no lock in common.
		"follow and complete": {[2]cutover.Stage{follow, complete}, true},
	} {
		open, _, _ := services()
		for i, stage := range tc.stages {
			require.NoError(t, open(stage).WithLock(t.Context(), "section", func(context.Context) error {
				err := open(tc.stages[1-i]).TryLock(t.Context(), "section", free)
				assert.Equal(t, tc.overlaps, err == nil, "%s, first %v: %v", name, stage, err)
				return nil
			}))
		}
	}
}

// An Update within a section of the same key runs under its lock.
func TestUpdateWithinASection(t *testing.T) {
	for name, stage := range map[string]cutover.Stage{"follow": follow, "copying": forward, "reverse": reverse} {
		run(t, name, func(t *testing.T, r *rig) {
			p := r.open(stage)
			locks := cutover.NewLocks(p.stores[0], p.stores[1], stage)
			require.NoError(t, locks.WithLock(t.Context(), room.Name, func(ctx context.Context) error {
				_, err := p.Update(ctx, room, add("x"))
				return err
			}))
			p.requireText("x,")
		})
	}
}
