package domains_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// model is a stored ticket, as the doc of Repository says; the zero model is that of none.
type model struct{ Ticket }

// step is one call of a Repository. Its change increments Size, and ends with an outcome.
type step struct {
	call    string // Get, Create, Edit, Number or Settle
	op      domains.Op
	outcome error
}

var (
	errOwn = errors.New("own")
	// These outcomes stand for a change that breaks a rule, and for one of the id.
	errBroken, errOtherID = errors.New("broken"), errors.New("other id")
)

// result is the result of a call, and whether its change runs.
type result struct {
	number uint64
	err    error
	text   string // of err, after the ticket's name; empty is any
	ran    bool
}

// do makes a call.
func (m *model) do(s step) result {
	if s.call == "Settle" {
		s.op = domains.Op{}
	}
	for _, a := range m.Applied {
		if s.call == "Get" || a.ID != s.op.ID {
			continue
		}
		if name := s.name(); a.Op != "" && a.Op != name {
			return result{err: rmw.ErrInvalid, text: fmt.Sprintf(`invalid argument: the id %q was used for %q, and this is %q: `+
				`two operations need two ids, see Op.For`, a.ID, a.Op, name)}
		}
		if s.call == "Number" {
			return result{number: a.Number}
		}
		return result{}
	}
	exists := m.ID != ""
	switch {
	case s.call == "Create" && exists:
		return result{err: errTicketExists, text: errTicketExists.Error()}
	case s.call != "Create" && s.call != "Settle" && !exists:
		return result{err: errNoTicket, text: errNoTicket.Error()}
	case s.call == "Get", errors.Is(s.outcome, rmw.Keep):
		return result{number: s.number(), ran: s.call != "Get"}
	case errors.Is(s.outcome, errBroken):
		return result{err: rmw.ErrInvalid, ran: true}
	case errors.Is(s.outcome, errOtherID):
		return result{err: rmw.ErrInvalid, text: "invalid argument: the change gives it another id, or none", ran: true}
	case s.outcome != nil:
		return result{err: s.outcome, text: s.outcome.Error(), ran: true}
	}
	m.ID, m.Size = "7", m.Size+1
	entities.Count(&m.Header, s.op.ID, s.name(), s.number())
	return result{number: s.number(), ran: true}
}

// name is the name of the operation, which is stored and reaches the Store.
func (s step) name() string {
	switch s.call {
	case "Get", "Settle":
		return s.call
	case "Create":
		return cmp.Or(s.op.Name, "Create")
	}
	return cmp.Or(s.op.Name, "Edit")
}

// number is the number that the change returns.
func (s step) number() uint64 {
	if s.call != "Number" {
		return 0
	}
	return uint64(len(s.op.ID + s.op.Name))
}

// send makes the call.
func (s step) send(repo tickets) (n Ticket, r result) {
	ctx := context.Background()
	change := func(n *Ticket) error {
		r.ran = true
		n.Size++
		switch {
		case errors.Is(s.outcome, errBroken):
			n.Size = -1
			return nil
		case errors.Is(s.outcome, errOtherID):
			n.ID = "8"
			return nil
		}
		return s.outcome
	}
	switch s.call {
	case "Get":
		n, r.err = repo.Get(ctx, "7")
	case "Create":
		n, r.err = repo.Create(ctx, "7", s.op, change)
	case "Edit":
		n, r.err = repo.Edit(ctx, "7", s.op, change)
	case "Number":
		n, r.number, r.err = repo.Number(ctx, "7", s.op, func(n *Ticket) (uint64, error) { return s.number(), change(n) })
	case "Settle":
		n, r.err = repo.Settle(ctx, "7", now, func(n *Ticket, _ bool) error { return change(n) })
	}
	return n, r
}

// play makes the calls on a Repository and on the model, and compares them after each.
func play(t require.TestingT, store rmw.Store, direct rmwtest.Direct, layout domains.Layout, m model, steps []step) {
	var heard []string
	repo := keyed(naming{store, &heard}, ticketCodec(layout))
	read := func() rmw.Value {
		v, _, err := direct.Get(context.Background(), ticketPrefix+"7")
		require.NoError(t, err)
		return v
	}
	for _, s := range steps {
		before, previous := read(), m.Version
		want := m.do(s)
		n, got := s.send(repo)
		require.Equal(t, "ticket/"+s.name(), heard[len(heard)-1], "a middleware can tell the operations apart")
		require.Equal(t, m.Version == previous, before.Equal(read()), "%+v: stored only if it changes", s)
		require.Equal(t, []any{want.number, want.ran}, []any{got.number, got.ran}, "%+v", s)
		if want.err == nil {
			require.NoError(t, got.err, "%+v", s)
			require.Equal(t, m.Ticket, n, "%+v", s)
			continue
		}
		require.ErrorIs(t, got.err, want.err, "%+v", s)
		require.Equal(t, domains.RefusalOf(want.err), domains.RefusalOf(got.err))
		require.False(t, rmw.Retryable(got.err))
		require.Equal(t, Ticket{}, n, "%+v", s)
		if want.text != "" {
			require.EqualError(t, got.err, `ticket "7": `+want.text)
		}
	}
}

// someSteps draws calls. Few or many ids come again, with other names or calls.
func someSteps(t *rapid.T) []step {
	ids := rapid.SampledFrom([]string{"12345", "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJ"}).Draw(t, "ids")
	steps := make([]step, rapid.SampledFrom([]int{10, 160}).Draw(t, "steps"))
	for i := range steps {
		id := string(rapid.SampledFrom([]byte(ids)).Draw(t, "id"))
		steps[i] = step{
			call: rapid.SampledFrom([]string{"Get", "Create", "Edit", "Edit", "Edit", "Number", "Number", "Settle"}).Draw(t, "call"),
			op:   opAt(id).As(rapid.SampledFrom([]string{"", "", "", "Grow", "Edit"}).Draw(t, "name")),
			outcome: rapid.SampledFrom([]error{
				nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, rmw.Keep, fmt.Errorf("as it is: %w", rmw.Keep),
				errTooLoud, fmt.Errorf("%w: 3 of 3", errTooLoud), errOwn, errBroken, errOtherID,
			}).Draw(t, "outcome"),
		}
	}
	return steps
}

// Any sequence of calls matches the model in every layout: the returned and the stored entity, numbers, errors, the
// remembered operations, and the operations' names. A remembered operation happens once, and one whose id was used for
// another is refused.
func TestRepositoryMatchesModel(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout domains.Layout) {
		rapid.Check(t, func(t *rapid.T) {
			memory := rmwtest.NewMemory()
			var m model
			if rapid.Bool().Draw(t, "old") { // an operation that was stored without a name matches every name
				m.ID, m.Version = "7", 2
				m.Applied = []domains.Applied{{ID: "1", Number: 5}, {ID: "2", Op: "Grow"}}
				v, err := ticketCodec(layout).Encode(&m.Ticket, rmw.Value{})
				require.NoError(t, err)
				require.NoError(t, memory.Set(context.Background(), ticketPrefix+"7", v, rmw.NoTTL))
			}
			play(t, memory, memory, layout, m, someSteps(t))
		})
	})
}

// The same on every path, for a run that is always the same.
func TestEveryPathMatchesModel(t *testing.T) {
	everywhere(t, func(t *testing.T, w fixture) {
		steps := rapid.Custom(someSteps).Example(1)
		play(t, w.Open(), w.Direct, w.layout, model{}, steps[:min(len(steps), 40)])
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

// An operation or an id that cannot be is refused before the store is asked.
func TestInvalidCallReachesNoStore(t *testing.T) {
	repo := newTickets(nil, domains.JSON)
	bad := domains.Op{ID: "", At: now}
	_, err := repo.Edit(t.Context(), "7", bad, grow)
	require.ErrorIs(t, err, rmw.ErrInvalid)
	_, _, err = repo.Number(t.Context(), "7", bad, func(*Ticket) (uint64, error) { return 0, nil })
	require.ErrorIs(t, err, rmw.ErrInvalid)
	_, err = repo.Create(t.Context(), "7", bad, named("7"))
	require.ErrorIs(t, err, rmw.ErrInvalid)
	_, err = repo.Settle(t.Context(), "7", time.Time{}, func(*Ticket, bool) error { return nil })
	require.ErrorIs(t, err, rmw.ErrInvalid)

	for _, id := range []string{"", strings.Repeat("a", 129), "\xff"} {
		for call, err := range everyCall(t, repo, id) {
			require.ErrorIs(t, err, rmw.ErrInvalid, call)
		}
	}
}

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

// Many processes change one entity, each another part of it, and each operation is sent by two at once: no change is lost,
// none happens twice, and every number is given out once. Hash and HashByVersion may be used on one key.
func TestConcurrentUpdates(t *testing.T) {
	const pairs, each = 4, 4
	for _, layouts := range [][]domains.Layout{
		{domains.JSON}, {domains.Hash}, {domains.HashByVersion}, {domains.Hash, domains.HashByVersion},
	} {
		paths.Each(t, func(t *testing.T, target rmwtest.Target) {
			tickets := newTickets(target.Open(), layouts[0])
			_, err := tickets.Create(t.Context(), "7", opAt("create"), named("7"))
			require.NoError(t, err)
			var wg sync.WaitGroup
			numbers := make([][pairs * each]uint64, 2)
			for i := range 2 * pairs {
				wg.Go(func() {
					repo := newTickets(target.Open(), layouts[i%len(layouts)])
					for j := range each {
						op := i/2*each + j
						_, number, err := repo.Number(t.Context(), "7", opAt(fmt.Sprint(op)), func(n *Ticket) (uint64, error) {
							if n.Parts == nil {
								n.Parts = map[string]Part{}
							}
							n.Parts[fmt.Sprint(op)] = Part{Count: 1}
							return uint64(len(n.Parts)), nil
						})
						assert.NoError(t, err)
						numbers[i%2][op] = number
					}
				})
			}
			wg.Wait()
			require.Equal(t, numbers[0], numbers[1])
			slices.Sort(numbers[0][:])
			for i, number := range numbers[0] {
				require.Equal(t, uint64(i+1), number)
			}
			got, err := tickets.Get(t.Context(), "7")
			require.NoError(t, err)
			assert.Len(t, got.Parts, pairs*each)
			assert.Equal(t, uint64(pairs*each+1), got.Version)
		})
	}
}
