package domains_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// Ticket is an entity with an attribute of every form that the layouts know.
type Ticket struct {
	domains.Header
	ID    string           `json:"id"`
	Title string           `json:"title,omitempty"`
	Done  bool             `json:"done,omitempty"`
	Loud  bool             `json:"loud"`
	Size  int              `json:"size,omitempty"`
	Big   uint64           `json:"big"`
	Rate  float64          `json:"rate,omitempty"`
	Due   domains.Time     `json:"due,omitempty"`
	Tags  []string         `json:"tags,omitempty"`
	Note  *Note            `json:"note,omitempty"`
	Parts map[string]Part  `json:"parts,omitempty" hash:"part:"`
	Votes map[string]int64 `json:"votes,omitempty" hash:"vote:"`

	Unknown domains.Unknown `json:"-"`
}

// Note is a part of a Ticket that may be missing.
type Note struct {
	Text string `json:"text"`

	Unknown domains.Unknown `json:"-"`
}

// Part is one of several of a Ticket.
type Part struct {
	Name  string `json:"name"`
	Count uint64 `json:"count,omitempty"`

	Unknown domains.Unknown `json:"-"`
}

var (
	ticketNames = domains.NamesOf[Ticket]()
	noteNames   = domains.NamesOf[Note]()
	partNames   = domains.NamesOf[Part]()
)

// fullTicket has no empty attribute.
func fullTicket() Ticket {
	return Ticket{
		Header: domains.Header{Format: 1, Version: 1, Applied: []domains.Applied{{ID: "a", Number: 2}}},
		ID:     "7", Title: "t", Done: true, Loud: true, Size: 3, Big: 1<<53 + 1, Rate: 0.5, Due: 4, Tags: []string{"x"},
		Note: &Note{Text: "n"}, Parts: map[string]Part{"p": {Name: "p", Count: 5}}, Votes: map[string]int64{"ann": -6},
	}
}

func (t *Ticket) UnmarshalJSON(data []byte) error {
	type plain Ticket
	return ticketNames.Unmarshal(data, (*plain)(t), &t.Unknown)
}

func (t Ticket) MarshalJSON() ([]byte, error) {
	type plain Ticket
	return ticketNames.Marshal(plain(t), t.Unknown)
}

func (n *Note) UnmarshalJSON(data []byte) error {
	type plain Note
	return noteNames.Unmarshal(data, (*plain)(n), &n.Unknown)
}

func (n Note) MarshalJSON() ([]byte, error) {
	type plain Note
	return noteNames.Marshal(plain(n), n.Unknown)
}

func (p *Part) UnmarshalJSON(data []byte) error {
	type plain Part
	return partNames.Unmarshal(data, (*plain)(p), &p.Unknown)
}

func (p Part) MarshalJSON() ([]byte, error) {
	type plain Part
	return partNames.Marshal(plain(p), p.Unknown)
}

func (t *Ticket) Check() error {
	if err := domains.CheckID("ticket", t.ID); err != nil {
		return err
	}
	if t.Size < 0 {
		return errors.New("size is negative")
	}
	return domains.CheckText("title", t.Title, 64)
}

var (
	errNoTicket     = domains.NewRefusal("no_ticket", "there is no such ticket")
	errTicketExists = domains.NewRefusal("ticket_exists", "there is such a ticket already")
	errTooLoud      = domains.NewRefusal("too_loud", "the ticket is loud enough")
)

type tickets = domains.Repository[Ticket, *Ticket]

const ticketPrefix = "ticket:"

func newTickets(store rmw.Store, layout domains.Layout) tickets {
	return repository(store, ticketCodec(layout), nil)
}

// keyed returns tickets whose stored id is compared with the id of their key.
func keyed(store rmw.Store, codec rmw.Codec[Ticket]) tickets {
	return repository(store, codec, func(t *Ticket) *string { return &t.ID })
}

func repository(store rmw.Store, codec rmw.Codec[Ticket], id func(*Ticket) *string) tickets {
	return domains.NewRepository[Ticket, *Ticket](store, domains.Config[Ticket]{
		Name:    "ticket",
		Key:     func(id string) rmw.Key { return rmw.Key{Name: ticketPrefix + id} },
		ID:      id,
		Codec:   codec,
		Absent:  errNoTicket,
		Present: errTicketExists,
	})
}

// ticketCodec is the codec of a layout, without an expiry.
func ticketCodec(layout domains.Layout) rmw.Codec[Ticket] {
	return domains.CodecOf[Ticket, *Ticket](layout, nil)
}

// now is when the operations of the tests happen.
var now = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

func opAt(id string) domains.Op { return domains.Op{ID: id, At: now} }

// named makes a new Ticket.
func named(id string) func(*Ticket) error {
	return func(t *Ticket) error {
		t.ID = id
		return nil
	}
}

// grow is a change that shows how often it has happened.
func grow(t *Ticket) error {
	t.Size++
	return nil
}

// stored returns what lies under a ticket's key.
func stored(t testing.TB, direct rmwtest.Direct, id string) rmw.Value {
	t.Helper()
	v, _, err := direct.Get(context.Background(), ticketPrefix+id)
	require.NoError(t, err)
	return v
}

// put stores a value under a ticket's key, past the Repository.
func put(t testing.TB, direct rmwtest.Direct, id string, v rmw.Value) {
	t.Helper()
	require.NoError(t, direct.Set(context.Background(), ticketPrefix+id, v, rmw.NoTTL))
}

// eachLayout runs test with all.
func eachLayout(t *testing.T, test func(t *testing.T, layout domains.Layout)) {
	t.Helper()
	for _, layout := range entities.Layouts() {
		t.Run(layout.String(), func(t *testing.T) { test(t, layout) })
	}
}

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

// secret is content: no error may show it.
const secret = "S3CRET"

// requireSilent fails if any error of the chain shows the secret.
func requireSilent(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%q", err)} {
		require.NotContains(t, text, secret)
	}
	switch e := err.(type) { //nolint:errorlint // it goes through the chain itself
	case interface{ Unwrap() error }:
		if e.Unwrap() != nil {
			requireSilent(t, e.Unwrap())
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			requireSilent(t, inner)
		}
	}
}
