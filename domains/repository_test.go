package domains_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// everywhere runs test on every path and with all layouts.
func everywhere(t *testing.T, test func(t *testing.T, w fixture)) {
	t.Helper()
	eachLayout(t, func(t *testing.T, layout domains.Layout) {
		paths.Each(t, func(t *testing.T, target rmwtest.Target) {
			test(t, fixture{target, layout, newTickets(target.Open(), layout)})
		})
	})
}

// fixture is a path, a layout, and the tickets there.
type fixture struct {
	rmwtest.Target
	layout domains.Layout
	tickets
}

// requireRefused fails unless err is that refusal, says of which ticket, and came with no ticket.
func requireRefused(t *testing.T, why *domains.Refusal, got Ticket, err error) {
	t.Helper()
	require.Same(t, why, domains.RefusalOf(err))
	require.EqualError(t, err, `ticket "7": `+why.Error())
	require.Equal(t, Ticket{}, got)
	require.False(t, rmw.Retryable(err), "trying once more does not help")
}

func TestAbsentEntity(t *testing.T) {
	everywhere(t, func(t *testing.T, w fixture) {
		never := func(*Ticket) error { panic("there is nothing to change") }
		n, err := w.Get(t.Context(), "7")
		requireRefused(t, errNoTicket, n, err)
		n, err = w.Edit(t.Context(), "7", opAt("a"), never)
		requireRefused(t, errNoTicket, n, err)
		n, number, err := w.Number(t.Context(), "7", opAt("a"), func(n *Ticket) (uint64, error) { return 1, never(n) })
		requireRefused(t, errNoTicket, n, err)
		assert.Zero(t, number)
		n, err = w.Settle(t.Context(), "7", now, func(_ *Ticket, exists bool) error {
			assert.False(t, exists)
			return rmw.Keep
		})
		require.NoError(t, err)
		assert.Equal(t, Ticket{}, n)
		_, err = w.Create(t.Context(), "7", opAt("a"), func(*Ticket) error { return errTooLoud })
		requireRefused(t, errTooLoud, Ticket{}, err)
		assert.False(t, stored(t, w.Direct, "7").Exists())
	})
}

func TestCreateAndChange(t *testing.T) {
	everywhere(t, func(t *testing.T, w fixture) {
		made, err := w.Create(t.Context(), "7", opAt("a"), named("7"))
		require.NoError(t, err)
		assert.Equal(t, uint64(1), made.Version)
		got, err := w.Get(t.Context(), "7")
		require.NoError(t, err)
		assert.Equal(t, made, got, "what is returned is what is stored")

		grown, err := w.Edit(t.Context(), "7", opAt("b"), grow)
		require.NoError(t, err)
		want := got
		want.Size, want.Version, want.Applied = 1, 2, []domains.Applied{{ID: "a", Op: "Create"}, {ID: "b", Op: "Edit"}}
		assert.Equal(t, want, grown)

		settled, err := w.Settle(t.Context(), "7", now, func(n *Ticket, exists bool) error {
			assert.True(t, exists)
			return grow(n)
		})
		require.NoError(t, err)
		want.Size, want.Version = 2, 3
		assert.Equal(t, want, settled)

		before := stored(t, w.Direct, "7")
		_, err = w.Create(t.Context(), "7", opAt("c"), named("7"))
		requireRefused(t, errTicketExists, Ticket{}, err)
		assert.True(t, before.Equal(stored(t, w.Direct, "7")))
	})
}

// Changes made before a Keep, a refusal or an error are neither stored nor returned.
func TestPartialChangeIsDiscarded(t *testing.T) {
	own := errors.New("own")
	everywhere(t, func(t *testing.T, w fixture) {
		made, err := w.Create(t.Context(), "7", opAt("a"), named("7"))
		require.NoError(t, err)
		before := stored(t, w.Direct, "7")
		for _, outcome := range []error{
			rmw.Keep, fmt.Errorf("as it is: %w", rmw.Keep), errTooLoud, fmt.Errorf("%w: 3 of 3", errTooLoud), own,
		} {
			change := func(n *Ticket) error { return errors.Join(grow(n), outcome) }
			for call, do := range map[string]func() (Ticket, error){
				"Edit": func() (Ticket, error) { return w.Edit(t.Context(), "7", opAt("b"), change) },
				"Settle": func() (Ticket, error) {
					return w.Settle(t.Context(), "7", now, func(n *Ticket, _ bool) error { return change(n) })
				},
				"Number": func() (Ticket, error) {
					n, number, err := w.Number(t.Context(), "7", opAt("b"), func(n *Ticket) (uint64, error) { return 5, change(n) })
					if err != nil {
						assert.Zero(t, number)
					}
					return n, err
				},
			} {
				got, err := do()
				if errors.Is(outcome, rmw.Keep) {
					require.NoError(t, err, call)
					assert.Equal(t, made, got, call)
				} else {
					require.ErrorIs(t, err, outcome, call)
					require.EqualError(t, err, `ticket "7": `+outcome.Error(), call)
					assert.Equal(t, Ticket{}, got, call)
					assert.Equal(t, errors.Is(outcome, errTooLoud), domains.RefusalOf(err) != nil, call)
				}
				assert.True(t, before.Equal(stored(t, w.Direct, "7")), call)
			}
		}
	})
}

func TestSettleCreates(t *testing.T) {
	everywhere(t, func(t *testing.T, w fixture) {
		n, err := w.Settle(t.Context(), "7", now, func(n *Ticket, exists bool) error {
			assert.False(t, exists)
			return named("7")(n)
		})
		require.NoError(t, err)
		assert.Equal(t, uint64(1), n.Version)
		assert.Empty(t, n.Applied)
		assert.True(t, stored(t, w.Direct, "7").Exists())
	})
}

// The end of a ctx is about the call, and not about a rule.
func TestContextEnds(t *testing.T) {
	everywhere(t, func(t *testing.T, w fixture) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := w.Edit(ctx, "7", opAt("a"), grow)
		require.ErrorIs(t, err, context.Canceled)
		assert.Nil(t, domains.RefusalOf(err))
		_, err = w.Get(ctx, "7")
		require.ErrorIs(t, err, context.Canceled)
		assert.Nil(t, domains.RefusalOf(err))
	})
}

// scripted is a Store that calls fn with the values of a script, and then succeeds or fails.
type scripted struct {
	values []rmw.Value
	err    error
	key    *rmw.Key
}

func (s scripted) Read(_ context.Context, key rmw.Key) (rmw.Value, error) {
	*s.key = key
	return rmw.Value{}, s.err
}

func (s scripted) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	*s.key = key
	var err error
	for _, v := range s.values {
		_, err = fn(ctx, v)
	}
	if s.err != nil {
		err = s.err
	}
	return rmw.Result{}, err
}

// Only the last call of a change counts: neither the refusal nor the number of an earlier one is left over.
func TestLastAttemptCounts(t *testing.T) {
	quiet, loud := rmw.String(`{"id":"7","size":1}`), rmw.String(`{"id":"7","size":1,"loud":true}`)
	known := rmw.String(`{"id":"7","applied":[{"id":"a","number":9}]}`)
	lost := &rmw.Error{Path: "test", Op: "commit", Reason: rmw.ErrOutcomeUnknown}
	for name, test := range map[string]struct {
		values []rmw.Value
		err    error
		number uint64
		want   error
	}{
		"changed after a refusal":    {[]rmw.Value{loud, quiet}, nil, 2, nil},
		"changed, then refused":      {[]rmw.Value{quiet, loud}, nil, 0, errTooLoud},
		"changed, then remembered":   {[]rmw.Value{quiet, known}, nil, 9, nil},
		"gone":                       {[]rmw.Value{quiet, {}}, nil, 0, errNoTicket},
		"changed, and lost":          {[]rmw.Value{quiet}, lost, 0, lost},
		"refused, and lost":          {[]rmw.Value{loud}, lost, 0, lost},
		"remembered, and lost":       {[]rmw.Value{known}, lost, 0, lost},
		"never called":               {nil, lost, 0, lost},
		"the store's end, no reason": {[]rmw.Value{loud}, context.Canceled, 0, context.Canceled},
	} {
		var key rmw.Key
		n, number, err := newTickets(scripted{test.values, test.err, &key}, domains.JSON).Number(
			t.Context(), "7", opAt("a"), func(n *Ticket) (uint64, error) {
				n.Size++
				if n.Loud {
					return 77, errTooLoud
				}
				return uint64(n.Size), nil
			})
		require.ErrorIs(t, err, test.want, name)
		assert.Equal(t, test.number, number, name)
		if test.err != nil {
			assert.Equal(t, test.err, err, "what the store says is passed on as it is: %s", name)
			assert.Nil(t, domains.RefusalOf(err), name)
		}
		if err != nil {
			assert.Equal(t, Ticket{}, n, name)
		}
	}
}

// The key is as configured; its label is the entity's name unless it has one.
func TestKeys(t *testing.T) {
	for label, want := range map[string]string{"": "ticket", "own": "own"} {
		var key rmw.Key
		repo := domains.NewRepository[Ticket, *Ticket](scripted{nil, rmw.ErrClosed, &key}, domains.Config[Ticket]{
			Name:  "ticket",
			Key:   func(id string) rmw.Key { return rmw.Key{Name: "t/" + id, TTL: time.Hour, Label: label} },
			Codec: ticketCodec(domains.Hash),
		})
		_, err := repo.Get(t.Context(), "7")
		require.Equal(t, rmw.ErrClosed, err)
		assert.Equal(t, rmw.Key{Name: "t/7", Kind: rmw.KindHash, TTL: time.Hour, Label: want}, key)
		_, err = repo.Edit(t.Context(), "8", opAt("a"), grow)
		require.Equal(t, rmw.ErrClosed, err)
		assert.Equal(t, rmw.Key{Name: "t/8", Kind: rmw.KindHash, TTL: time.Hour, Label: want}, key)
	}
}

// naming is a Store that records the operation names of its calls.
type naming struct {
	rmw.Store
	heard *[]string
}

func (p naming) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	*p.heard = append(*p.heard, key.Label+"/"+rmw.OperationOf(ctx))
	return p.Store.Read(ctx, key)
}

func (p naming) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	*p.heard = append(*p.heard, key.Label+"/"+rmw.OperationOf(ctx))
	return p.Store.Update(ctx, key, fn)
}

// A middleware can tell the operations of a Repository apart.
func TestOperationNamesReachStore(t *testing.T) {
	var heard []string
	tickets := newTickets(naming{rmwtest.NewMemory(), &heard}, domains.JSON)
	_, err := tickets.Create(t.Context(), "7", opAt("a"), named("7"))
	require.NoError(t, err)
	op := opAt("b")
	op.Name = "Shout"
	for _, op := range []domains.Op{op, opAt("c")} {
		_, err = tickets.Edit(t.Context(), "7", op, func(*Ticket) error { return nil })
		require.NoError(t, err)
	}
	_, err = tickets.Settle(t.Context(), "7", now, func(*Ticket, bool) error { return rmw.Keep })
	require.NoError(t, err)
	_, err = tickets.Get(t.Context(), "7")
	require.NoError(t, err)
	assert.Equal(t, []string{"ticket/Create", "ticket/Shout", "ticket/Edit", "ticket/Settle", "ticket/Get"}, heard)
}
