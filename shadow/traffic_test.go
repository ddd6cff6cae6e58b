package shadow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
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

// operations are the operations of a service on a ticket.
func operations() map[string]func(t *ticket, i int) error {
	return map[string]func(t *ticket, i int) error{
		"open": func(t *ticket, i int) error {
			if t.State == "open" {
				return rmw.Keep
			}
			*t = ticket{ID: 1<<53 + 1, State: "open", Notes: []string{"z", "a"}, Seen: int64(i)}
			return nil
		},
		"note": func(t *ticket, i int) error {
			if t.State != "open" {
				return errClosed
			}
			t.Notes = append([]string{"n" + strconv.Itoa(i)}, t.Notes[:min(len(t.Notes), 3)]...)
			return nil
		},
		"rate": func(t *ticket, i int) error {
			if t.State != "open" {
				return errClosed
			}
			t.Rating = i % 6
			return nil
		},
		"close": func(t *ticket, _ int) error {
			if t.State != "open" {
				return errClosed
			}
			t.State = "closed"
			return nil
		},
	}
}

func one(op func(t *ticket, i int) error, i int) rmw.UpdateFunc {
	return func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		var t ticket
		if cur.Exists() {
			if err := json.Unmarshal([]byte(cur.Text()), &t); err != nil {
				return rmw.Value{}, err
			}
		}
		switch err := op(&t, i); {
		case errors.Is(err, rmw.Keep):
			return cur, nil
		case err != nil:
			return rmw.Value{}, err
		}
		text, err := json.Marshal(t)
		return rmw.Bytes(text), err
	}
}

// slowTraffic is traffic of clients whose functions take 30 ms.
func slowTraffic(t *testing.T, store rmw.Store, clients, calls int) {
	t.Helper()
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			key := rmw.Key{Name: fmt.Sprintf("ticket:%d", client), Label: "ticket"}
			open := rmw.WithOperation(t.Context(), "open")
			for i := range calls {
				_, err := store.Update(open, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					time.Sleep(30 * time.Millisecond)
					return one(operations()["open"], i)(ctx, rmw.Value{})
				})
				assert.NoError(t, err)
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
	names := []string{"open", "note", "note", "rate", "close"}
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
					name := names[random.IntN(len(names))]
					key := rmw.Key{Name: fmt.Sprintf("ticket:%d", n), Label: "ticket"}
					if name == "open" {
						key.TTL = 30 * time.Minute
					}
					_, err = store.Update(rmw.WithOperation(t.Context(), name), key, one(operations()[name], i))
				}
				if err != nil && !errors.Is(err, errClosed) && !strings.Contains(err.Error(), "refused") {
					assert.NoError(t, err)
				}
				time.Sleep(time.Duration(random.IntN(3)) * time.Millisecond)
			}
		})
	}
	all.Wait()
	synctest.Wait()
}
