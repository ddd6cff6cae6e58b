package domains_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// late is how long after its connection broke a command still happens.
const late = 20 * time.Millisecond

// faults are the possible faults of a command.
func faults() []rmwtest.Fault {
	return []rmwtest.Fault{
		{Kind: rmwtest.RequestLost}, {Kind: rmwtest.ReplyLost}, {Kind: rmwtest.Hang}, {Kind: rmwtest.Late, Delay: late},
	}
}

// striking runs test once for every fault of every command, until no command is left to strike. arm makes the
// next command that the test sends the first.
func striking(t *testing.T, faulty rmwtest.Faults, test func(id string, arm func() (struck func() bool))) {
	t.Helper()
	for _, fault := range faults() {
		n, struck := 0, true
		for struck {
			n++
			require.Less(t, n, 50)
			test(fmt.Sprintf("%v-%d", fault.Kind, n), func() func() bool {
				synctest.Wait() // the fault must not hit a command that the previous call left behind
				stop := faulty.Arm(n, fault)
				return func() bool { struck = stop(); return struck }
			})
		}
		require.Greater(t, n, 1, "no command was struck")
	}
}

// insist sends one operation until it succeeds, each time as another process would. An error other than
// ErrOutcomeUnknown must have left the stored value as it was, and for good. It returns whether the first
// outcome was unknown.
func insist(t *testing.T, w fixture, id string, arm func() func() bool, send func(context.Context, tickets) error) (unknown bool) {
	t.Helper()
	before := stored(t, w.Direct, id)
	stop := arm()
	for try := 1; ; try++ {
		require.Less(t, try, 10, id)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := send(ctx, newTickets(w.Open(), w.layout))
		cancel()
		if try == 1 {
			stop()
		}
		if err == nil {
			break
		}
		require.Nil(t, domains.RefusalOf(err), "%s: %v", id, err)
		if try > 1 {
			continue
		}
		if unknown = errors.Is(err, rmw.ErrOutcomeUnknown); !unknown {
			time.Sleep(2 * late)
			synctest.Wait()
			require.True(t, before.Equal(stored(t, w.Direct, id)), "%s: %v, and yet it was written", id, err)
		}
	}
	// Delayed commands arrive.
	time.Sleep(2 * late)
	synctest.Wait()
	return unknown
}

// After an error, the same operation sent again has happened exactly once, whichever command or reply was lost,
// on every path.
func TestRetryHappensOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, w fixture) {
		unknowns := 0
		for round := 0; round < 20 && unknowns == 0; round++ { // where keys move at random, faults may miss each commit
			striking(t, w.Faults, func(id string, arm func() func() bool) {
				id = fmt.Sprint(id, "-", round)
				made, err := w.Create(t.Context(), id, opAt("create"), named(id))
				require.NoError(t, err)
				var number uint64
				if insist(t, w, id, arm, func(ctx context.Context, repo tickets) (err error) {
					_, number, err = repo.Number(ctx, id, opAt("once"), func(n *Ticket) (uint64, error) {
						n.Size++
						return uint64(10 + n.Size), nil
					})
					return err
				}) {
					unknowns++
				}
				assert.Equal(t, uint64(11), number, id)
				got, err := w.Get(t.Context(), id)
				require.NoError(t, err)
				want := made
				want.Size, want.Version = 1, 2
				want.Applied = append(want.Applied, domains.Applied{ID: "once", Op: "Edit", Number: 11})
				assert.Equal(t, want, got, id)
			})
		}
		assert.Positive(t, unknowns, "or it proves nothing about them")
	})
}

// The same holds for what creates, and for what settles.
func TestCreateIsIdempotent(t *testing.T) {
	everywhere(t, func(t *testing.T, w fixture) {
		striking(t, w.Faults, func(id string, arm func() func() bool) {
			insist(t, w, id, arm, func(ctx context.Context, repo tickets) error {
				_, err := repo.Create(ctx, id, opAt("once"), named(id))
				return err
			})
			got, err := w.Get(t.Context(), id)
			require.NoError(t, err)
			assert.Equal(t, uint64(1), got.Version, id)
			assert.Equal(t, []domains.Applied{{ID: "once", Op: "Create"}}, got.Applied, id)
		})
	})
}

func TestSettleIsIdempotent(t *testing.T) {
	everywhere(t, func(t *testing.T, w fixture) {
		striking(t, w.Faults, func(id string, arm func() func() bool) {
			insist(t, w, id, arm, func(ctx context.Context, repo tickets) error {
				_, err := repo.Settle(ctx, id, now, func(n *Ticket, exists bool) error {
					if exists {
						return rmw.Keep
					}
					return named(id)(n)
				})
				return err
			})
			got, err := w.Get(t.Context(), id)
			require.NoError(t, err)
			assert.Equal(t, uint64(1), got.Version, id)
		})
	})
}

// A refusal is no failure of the store: it comes through the faults, or the store's error does, and nothing is
// written either way.
func TestRefusalDespiteFaults(t *testing.T) {
	everywhere(t, func(t *testing.T, w fixture) {
		striking(t, w.Faults, func(id string, arm func() func() bool) {
			_, err := w.Create(t.Context(), id, opAt("create"), named(id))
			require.NoError(t, err)
			before := stored(t, w.Direct, id)
			stop := arm()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err = newTickets(w.Open(), w.layout).Edit(ctx, id, opAt("a"), func(n *Ticket) error {
				n.Size++
				return errTooLoud
			})
			stop()
			require.Error(t, err, id)
			assert.NotErrorIs(t, err, rmw.ErrOutcomeUnknown, id)
			time.Sleep(2 * late)
			synctest.Wait()
			assert.True(t, before.Equal(stored(t, w.Direct, id)), id)
		})
	})
}
