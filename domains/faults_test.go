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

// After an error, the same call sent again has happened exactly once, whichever command or reply was lost, on every path.
// After a refusal or any error but ErrOutcomeUnknown, nothing is written.
func TestRetryHappensOnce(t *testing.T) {
	applied := func(op string, number uint64) []domains.Applied {
		return []domains.Applied{{ID: "once", Op: op, Number: number}}
	}
	for call, test := range map[string]struct {
		existing bool
		send     func(ctx context.Context, repo tickets, id string) (uint64, error)
		want     Ticket
		number   uint64
	}{
		"Number": {true, func(ctx context.Context, repo tickets, id string) (uint64, error) {
			_, number, err := repo.Number(ctx, id, opAt("once"), func(n *Ticket) (uint64, error) {
				n.Size++
				return uint64(10 + n.Size), nil
			})
			return number, err
		}, Ticket{Size: 1, Header: domains.Header{Version: 2, Applied: applied("Edit", 11)}}, 11},
		"Create": {false, func(ctx context.Context, repo tickets, id string) (uint64, error) {
			_, err := repo.Create(ctx, id, opAt("once"), named(id))
			return 0, err
		}, Ticket{Header: domains.Header{Version: 1, Applied: applied("Create", 0)}}, 0},
		"Settle": {false, func(ctx context.Context, repo tickets, id string) (uint64, error) {
			_, err := repo.Settle(ctx, id, now, func(n *Ticket, exists bool) error {
				if exists {
					return rmw.Keep
				}
				return named(id)(n)
			})
			return 0, err
		}, Ticket{Header: domains.Header{Version: 1}}, 0},
		"refused": {true, func(ctx context.Context, repo tickets, id string) (uint64, error) {
			_, err := repo.Edit(ctx, id, opAt("once"), func(n *Ticket) error {
				n.Size++
				return errTooLoud
			})
			if domains.RefusalOf(err) == errTooLoud {
				err = nil
			}
			return 0, err
		}, Ticket{Header: domains.Header{Version: 1}}, 0},
	} {
		t.Run(call, func(t *testing.T) {
			everywhere(t, func(t *testing.T, w fixture) {
				unknowns := 0
				rounds := 1
				if call == "Number" {
					rounds = 20 // where keys move at random, faults may miss each commit
				}
				for round := 0; round < rounds && unknowns == 0; round++ {
					striking(t, w.Faults, func(id string, arm func() func() bool) {
						id = fmt.Sprint(id, "-", round)
						want := test.want
						want.ID, want.Format = id, 1
						if test.existing {
							_, err := w.Create(t.Context(), id, opAt("create"), named(id))
							require.NoError(t, err)
							want.Applied = append([]domains.Applied{{ID: "create", Op: "Create"}}, want.Applied...)
						}
						var number uint64
						if insist(t, w, id, arm, func(ctx context.Context, repo tickets) (err error) {
							number, err = test.send(ctx, repo, id)
							return err
						}) {
							unknowns++
						}
						assert.Equal(t, test.number, number, id)
						got, err := w.Get(t.Context(), id)
						require.NoError(t, err)
						assert.Equal(t, want, got, id)
					})
				}
				assert.True(t, unknowns > 0 || call != "Number", "or it proves nothing about them")
				assert.True(t, unknowns == 0 || call != "refused", "a refusal commits nothing")
			})
		})
	}
}
