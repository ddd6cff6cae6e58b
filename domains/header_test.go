package domains_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// An operation that is sent again changes nothing, and returns its number, as long as at most 31 others have
// followed. Then it is forgotten, and happens again.
func TestRememberedOperations(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout domains.Layout) {
		memory := rmwtest.NewMemory()
		repo := newTickets(memory, layout)
		_, err := repo.Create(t.Context(), "7", opAt("create"), named("7"))
		require.NoError(t, err)
		number := func(i int) (Ticket, uint64) {
			n, number, err := repo.Number(t.Context(), "7", opAt(fmt.Sprint(i)), func(n *Ticket) (uint64, error) {
				n.Size++
				return uint64(1000 + n.Size), nil
			})
			require.NoError(t, err)
			return n, number
		}
		const ops = 2 * domains.Remembered
		for i := 1; i <= ops; i++ {
			n, got := number(i)
			require.Equal(t, uint64(1000+i), got)
			require.Equal(t, uint64(1+i), n.Version)
			require.Len(t, n.Applied, min(i+1, domains.Remembered))
			require.Equal(t, domains.Applied{ID: fmt.Sprint(i), Op: "Edit", Number: got}, n.Applied[len(n.Applied)-1])
		}
		before := stored(t, memory, "7")
		for i := ops - domains.Remembered + 1; i <= ops; i++ {
			n, got := number(i)
			require.Equal(t, uint64(1000+i), got)
			require.Equal(t, ops, n.Size)
			require.True(t, before.Equal(stored(t, memory, "7")))
		}
		n, got := number(ops - domains.Remembered)
		assert.Equal(t, uint64(1000+ops+1), got, "the documented limit: 32 others have happened since")
		assert.Equal(t, ops+1, n.Size)
	})
}

// The creator is an operation like any other.
func TestCreateIsRemembered(t *testing.T) {
	memory := rmwtest.NewMemory()
	repo := newTickets(memory, domains.JSON)
	_, err := repo.Create(t.Context(), "7", opAt("a"), named("7"))
	require.NoError(t, err)
	_, err = repo.Edit(t.Context(), "7", opAt("b"), grow)
	require.NoError(t, err)
	before := stored(t, memory, "7")
	n, err := repo.Create(t.Context(), "7", opAt("a"), func(*Ticket) error { panic("it has happened") })
	require.NoError(t, err)
	assert.Equal(t, 1, n.Size, "as it is now")
	assert.True(t, before.Equal(stored(t, memory, "7")))
	for i := range domains.Remembered - 1 {
		_, err = repo.Edit(t.Context(), "7", opAt(fmt.Sprint(i)), grow)
		require.NoError(t, err)
	}
	_, err = repo.Create(t.Context(), "7", opAt("a"), named("7"))
	require.ErrorIs(t, err, errTicketExists)
}

// Any sequence of operations, new and repeated, that change, keep and refuse, leaves the list of the last 32
// that the model predicts.
func TestRememberedSequence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		memory := rmwtest.NewMemory()
		repo := newTickets(memory, rapid.SampledFrom(layouts()).Draw(t, "layout"))
		_, err := repo.Create(t.Context(), "7", opAt("create"), named("7"))
		require.NoError(t, err)
		last := []domains.Applied{{ID: "create", Op: "Create"}}
		version, size := uint64(1), 0
		for i := range rapid.IntRange(1, 80).Draw(t, "steps") {
			id := fmt.Sprint(rapid.IntRange(0, 45).Draw(t, "op"))
			outcome := rapid.SampledFrom([]error{nil, nil, nil, rmw.Keep, errTooLoud}).Draw(t, "outcome")
			n, number, err := repo.Number(t.Context(), "7", opAt(id), func(n *Ticket) (uint64, error) {
				n.Size++
				return uint64(i), outcome
			})
			known := slices.IndexFunc(last, func(a domains.Applied) bool { return a.ID == id })
			switch {
			case known >= 0:
				require.NoError(t, err)
				require.Equal(t, last[known].Number, number)
			case outcome == errTooLoud: //nolint:errorlint // it is this very one
				require.ErrorIs(t, err, errTooLoud)
				require.Zero(t, number)
			case outcome == nil:
				require.NoError(t, err)
				require.Equal(t, uint64(i), number)
				last = append(last, domains.Applied{ID: id, Op: "Edit", Number: uint64(i)})
				last = last[max(0, len(last)-domains.Remembered):]
				version, size = version+1, size+1
			default:
				require.NoError(t, err)
			}
			if err != nil {
				require.Equal(t, Ticket{}, n)
				n, err = repo.Get(t.Context(), "7")
				require.NoError(t, err)
			}
			require.Equal(t, version, n.Version)
			require.Equal(t, size, n.Size)
			require.Equal(t, last, n.Applied)
			require.Equal(t, domains.Format, n.Format)
		}
	})
}

func TestHeaderHas(t *testing.T) {
	h := domains.Header{Applied: []domains.Applied{{ID: "a"}, {ID: "b", Number: 7}, {ID: ""}}}
	number, ok := h.Has("b")
	assert.Equal(t, uint64(7), number)
	assert.True(t, ok)
	number, ok = h.Has("a")
	assert.Zero(t, number)
	assert.True(t, ok)
	for _, id := range []string{"", "c"} {
		number, ok = h.Has(id)
		assert.Zero(t, number)
		assert.False(t, ok, "nothing has no id: %q", id)
	}
	assert.Same(t, &h, h.Head())
}
