package domains_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// never is a change that must not be made.
func never(*Ticket) error { panic("it was refused before") }

// An id that was used for one operation is refused for another, on every path and in every layout: it would
// succeed without having happened.
func TestOpIDServesOneOperation(t *testing.T) {
	everywhere(t, func(t *testing.T, w fixture) {
		_, err := w.Create(t.Context(), "7", opAt("made"), named("7"))
		require.NoError(t, err)
		_, err = w.Edit(t.Context(), "7", opAt("grown").As("Grow"), grow)
		require.NoError(t, err)
		_, err = w.Edit(t.Context(), "7", opAt("changed"), grow)
		require.NoError(t, err)
		before := stored(t, w.Direct, "7")
		for _, test := range []struct {
			do       func(op domains.Op) (Ticket, error)
			op       domains.Op
			was, now string
		}{
			{edits(w), opAt("grown").As("Shrink"), "Grow", "Shrink"},
			{numbers(w), opAt("grown").As("Count"), "Grow", "Count"},
			{creates(w), opAt("grown"), "Grow", "Create"},
			{edits(w), opAt("made"), "Create", "Edit"},
			{edits(w), opAt("made").As("Grow"), "Create", "Grow"},
			{edits(w), opAt("changed").As("Grow"), "Edit", "Grow"},
		} {
			n, err := test.do(test.op)
			require.ErrorIs(t, err, rmw.ErrInvalid)
			require.EqualError(t, err, fmt.Sprintf(
				`ticket "7": invalid argument: the id %q was used for %q, and this is %q: two operations need two ids, see Op.For`,
				test.op.ID, test.was, test.now))
			assert.Nil(t, domains.RefusalOf(err), "it is about the call, not about a rule")
			assert.False(t, rmw.Retryable(err))
			assert.Equal(t, Ticket{}, n)
			assert.True(t, before.Equal(stored(t, w.Direct, "7")))
		}
		for _, again := range []func() (Ticket, error){
			func() (Ticket, error) { return edits(w)(opAt("grown").As("Grow")) },
			func() (Ticket, error) { return edits(w)(opAt("changed")) },
			func() (Ticket, error) { return edits(w)(opAt("changed").As("Edit")) },
			func() (Ticket, error) { return creates(w)(opAt("made")) },
		} {
			n, err := again()
			require.NoError(t, err, "the same operation")
			assert.Equal(t, 2, n.Size)
		}
		n, err := w.Edit(t.Context(), "7", opAt("grown").For("shrink").As("Shrink"), grow)
		require.NoError(t, err, "which the error recommends")
		assert.Equal(t, 3, n.Size)
	})
}

func edits(w fixture) func(domains.Op) (Ticket, error) {
	return func(op domains.Op) (Ticket, error) { return w.Edit(context.Background(), "7", op, never) }
}

func numbers(w fixture) func(domains.Op) (Ticket, error) {
	return func(op domains.Op) (Ticket, error) {
		n, number, err := w.Number(context.Background(), "7", op, func(n *Ticket) (uint64, error) { return 9, never(n) })
		if number != 0 {
			return n, errors.New("a number of what was refused")
		}
		return n, err
	}
}

func creates(w fixture) func(domains.Op) (Ticket, error) {
	return func(op domains.Op) (Ticket, error) { return w.Create(context.Background(), "7", op, never) }
}

// A remembered operation without a name, from an older version or another service, matches every name.
func TestStoredOperationWithoutName(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout domains.Layout) {
		memory := rmwtest.NewMemory()
		repo := newTickets(memory, layout)
		applied := `[{"id":"old","number":5},{"id":"named","op":"Grow"}]`
		v := rmw.String(`{"id":"7","version":2,"applied":` + applied + `}`)
		if layout != domains.JSON {
			v = rmw.Hash(map[string]string{"id": "7", "version": "2", "applied": applied})
		}
		put(t, memory, "7", v)
		for _, name := range []string{"", "Grow", "Shrink"} {
			_, number, err := repo.Number(t.Context(), "7", opAt("old").As(name), func(*Ticket) (uint64, error) { panic("again") })
			require.NoError(t, err)
			assert.Equal(t, uint64(5), number)
			_, err = repo.Create(t.Context(), "7", opAt("old").As(name), never)
			require.NoError(t, err)
		}
		n, err := repo.Edit(t.Context(), "7", opAt("new").As("Grow"), grow)
		require.NoError(t, err)
		assert.Equal(t, []domains.Applied{{ID: "old", Number: 5}, {ID: "named", Op: "Grow"}, {ID: "new", Op: "Grow"}}, n.Applied)
		text := stored(t, memory, "7").Text()
		if layout != domains.JSON {
			text, _ = stored(t, memory, "7").Field("applied")
		}
		assert.Contains(t, text, strings.TrimSuffix(applied, "]")+`,{"id":"new","op":"Grow"}]`, "nobody is given a name afterwards")
	})
}

// Find goes by the id, and by the names if both have one.
func TestHeaderFind(t *testing.T) {
	h := domains.Header{Applied: []domains.Applied{{ID: "a"}, {ID: "b", Op: "Post", Number: 7}, {ID: ""}}}
	for _, test := range []struct {
		id, name string
		number   uint64
		done     bool
		invalid  bool
	}{
		{"a", "", 0, true, false},
		{"a", "Join", 0, true, false},
		{"b", "", 7, true, false},
		{"b", "Post", 7, true, false},
		{"b", "post", 0, false, true},
		{"b", "Join", 0, false, true},
		{"c", "Post", 0, false, false},
		{"", "Post", 0, false, false},
	} {
		number, done, err := h.Find(opAt(test.id).As(test.name))
		assert.Equal(t, test.number, number, test)
		assert.Equal(t, test.done, done, test)
		assert.Equal(t, test.invalid, errors.Is(err, rmw.ErrInvalid), test)
	}
}

// For any ids and names, a success means that this operation, or an earlier one of the same name, has happened.
func TestSuccessMeansDone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		repo := newTickets(rmwtest.NewMemory(), rapid.SampledFrom(layouts()).Draw(t, "layout"))
		_, err := repo.Create(context.Background(), "7", opAt("create"), named("7"))
		require.NoError(t, err)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			id := fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "id"))
			name := rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "name")
			n, err := repo.Edit(context.Background(), "7", opAt(id).As(name), func(n *Ticket) error {
				n.Tags = append(n.Tags, id+name)
				return nil
			})
			if err != nil {
				require.ErrorIs(t, err, rmw.ErrInvalid)
				n, err = repo.Get(context.Background(), "7")
				require.NoError(t, err)
				require.NotContains(t, n.Tags, id+name, "nothing that has happened is refused")
				continue
			}
			at := slices.Index(n.Tags, id+name)
			require.GreaterOrEqual(t, at, 0, "%s %s succeeded", id, name)
			require.NotContains(t, n.Tags[at+1:], id+name, "once")
		}
	})
}
