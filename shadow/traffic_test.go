package shadow_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/rmw"
)

// ticket is a document of a service.
type ticket struct {
	ID     uint64   `json:"id"`
	State  string   `json:"state"`
	Rating int      `json:"rating"`
	Notes  []string `json:"notes"`
	Seen   int64    `json:"seen"`
}

type refusal struct{ code string }

func (r *refusal) Error() string { return "refused: " + r.code }
func (r *refusal) Code() string  { return r.code }

var errClosed = &refusal{"closed"}

// operate is an operation of a service on a ticket.
func (t *ticket) operate(name string, i int) error {
	switch {
	case name == "open" && t.State == "open":
		return rmw.Keep
	case name == "open":
		*t = ticket{ID: 1<<53 + 1, State: "open", Notes: []string{"z", "a"}, Seen: int64(i)}
	case t.State != "open":
		return errClosed
	case name == "note":
		t.Notes = append([]string{"n" + strconv.Itoa(i)}, t.Notes[:min(len(t.Notes), 3)]...)
	case name == "rate":
		t.Rating = i % 6
	case name == "close":
		t.State = "closed"
	}
	return nil
}

func edit(t *testing.T, store rmw.Store, key rmw.Key, name string, change func(t *ticket) error) error {
	_, _, err := rmw.NewTyped(store, rmw.JSON[ticket]()).Edit(rmw.WithOperation(t.Context(), name), key,
		func(_ context.Context, t *ticket, _ bool) error { return change(t) })
	return err
}

// slowTraffic is traffic of clients whose functions take 30 ms.
func slowTraffic(t *testing.T, store rmw.Store, clients, calls int) {
	t.Helper()
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for i := range calls {
				key := rmw.Key{Name: fmt.Sprintf("ticket:%d", client), Label: "ticket"}
				assert.NoError(t, edit(t, store, key, "open", func(t *ticket) error {
					time.Sleep(30 * time.Millisecond)
					*t = ticket{}
					return t.operate("open", i)
				}))
			}
		})
	}
	all.Wait()
	synctest.Wait()
}

// serve increments a field of a hash.
func serve(_ context.Context, cur rmw.Value) (rmw.Value, error) {
	load, _ := cur.Field("load")
	n, _ := strconv.Atoi(load)
	if !cur.Exists() {
		cur = cur.With("limit", "9")
	}
	return cur.With("load", strconv.Itoa(n+1)), nil
}

// traffic is a load of random calls by several clients.
func traffic(t *testing.T, store rmw.Store, clients, calls, keys int) {
	t.Helper()
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(client)))
			for i := range calls {
				var err error
				n := random.IntN(keys)
				switch random.IntN(4) {
				case 0:
					key := rmw.Key{Name: fmt.Sprintf("agent:%d", n), Kind: rmw.KindHash, Label: "agent", TTL: time.Hour}
					_, err = store.Update(rmw.WithOperation(t.Context(), "serve"), key, serve)
				case 1:
					_, err = store.Read(rmw.WithOperation(t.Context(), "get"), rmw.Key{Name: fmt.Sprintf("ticket:%d", n), Label: "ticket"})
				default:
					name := []string{"open", "note", "note", "rate", "close"}[random.IntN(5)]
					key := rmw.Key{Name: fmt.Sprintf("ticket:%d", n), Label: "ticket"}
					if name == "open" {
						key.TTL = 30 * time.Minute
					}
					err = edit(t, store, key, name, func(t *ticket) error { return t.operate(name, i) })
				}
				if !errors.Is(err, errClosed) {
					assert.NoError(t, err)
				}
				time.Sleep(time.Duration(random.IntN(3)) * time.Millisecond)
			}
		})
	}
	all.Wait()
	synctest.Wait()
}
