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

// After an error, the same call sent again by another process has happened exactly once, whichever command or reply was
// lost, on every path. After any error but ErrOutcomeUnknown, nothing is written.
func TestRetryHappensOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, w fixture) {
		unknowns := 0
		for round := 0; round < 20 && unknowns == 0; round++ { // where keys move at random, faults may miss each commit
			for _, fault := range []rmwtest.Fault{
				{Kind: rmwtest.RequestLost}, {Kind: rmwtest.ReplyLost}, {Kind: rmwtest.Hang}, {Kind: rmwtest.Late, Delay: late},
			} {
				for n, struck := 1, true; struck; n++ {
					id := fmt.Sprintf("%d-%v-%d", round, fault.Kind, n)
					require.Less(t, n, 50, id)
					var unknown bool
					struck, unknown = strike(t, w, id, n, fault)
					require.True(t, struck || n > 1, "%s: no command was struck", id)
					if unknown {
						unknowns++
					}
				}
			}
		}
		assert.Positive(t, unknowns, "or it proves nothing about them")
	})
}

// strike sends one operation until it succeeds, each time as another process would. The fault strikes the n-th command
// of the first process, if there is one. unknown reports that the first outcome was unknown.
func strike(t *testing.T, w fixture, id string, n int, fault rmwtest.Fault) (struck, unknown bool) {
	settle := func() { // delayed commands arrive
		time.Sleep(2 * late)
		synctest.Wait()
	}
	send := func() (number uint64, err error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, number, err = newTickets(w.Open(), w.layout).Number(ctx, id, opAt("once"), func(n *Ticket) (uint64, error) {
			n.Size++
			return uint64(10 + n.Size), nil
		})
		return number, err
	}
	_, err := w.Create(t.Context(), id, opAt("create"), named(id))
	require.NoError(t, err)
	before := stored(t, w.Direct, id)
	settle()
	stop := w.Faults.Arm(n, fault)
	number, err := send()
	struck = stop()
	if unknown = errors.Is(err, rmw.ErrOutcomeUnknown); err != nil && !unknown {
		settle()
		require.True(t, before.Equal(stored(t, w.Direct, id)), "%s: %v, and yet it was written", id, err)
	}
	for try := 1; err != nil; try++ {
		require.Nil(t, domains.RefusalOf(err), "%s: %v", id, err)
		require.Less(t, try, 10, id)
		number, err = send()
	}
	settle()
	assert.Equal(t, uint64(11), number, id)
	got, err := w.Get(t.Context(), id)
	require.NoError(t, err)
	assert.Equal(t, []uint64{1, 2}, []uint64{uint64(got.Size), got.Version}, id)
	return struck, unknown
}
