package load

import (
	"fmt"
	"sync/atomic"

	"github.com/unwatch/unwatch/rmw"
)

// record is the value of a key: its number of updates, and the sum of their random ids. The sum detects a
// lost update that a duplicate one would hide in the count, and the value stays small.
type record struct {
	n   int64
	sum uint64
}

func parse(text string) (r record, err error) {
	if text == "" {
		return r, nil
	}
	if _, err := fmt.Sscanf(text, "%d %x", &r.n, &r.sum); err != nil {
		return r, fmt.Errorf("a key holds %q, want a count and a sum: %w", text, err)
	}
	return r, nil
}

func (r record) with(number uint64) record { return record{r.n + 1, r.sum + number} }

func (r record) value() rmw.Value { return rmw.String(fmt.Sprintf("%d %x", r.n, r.sum)) }

// expectation counts the updates of one key by the answers to their callers.
type expectation struct {
	acknowledged, unknown atomic.Int64
	sum                   atomic.Uint64 // of the acknowledged updates
}

// expectations has one for each key.
type expectations struct {
	keys    []expectation
	failed  atomic.Int64
	example atomic.Pointer[string] // a sample failure
}

func newExpectations(keys int) *expectations { return &expectations{keys: make([]expectation, keys)} }

// Tally counts the results of the updates.
type Tally struct {
	Acknowledged int64
	Unknown      int64
	Failed       int64  // errors other than a closed store
	Example      string // a sample failure

	Lost  int64 // acknowledged but not stored
	Extra int64 // stored beyond the acknowledged and unknown ones
	Mixed int64 // keys with the right count of wrong updates
}

// tally compares the expectations with the stored values. Updates with an unknown outcome may be stored.
func (e *expectations) tally(stored []record) Tally {
	t := Tally{Failed: e.failed.Load()}
	if text := e.example.Load(); text != nil {
		t.Example = *text
	}
	for i := range e.keys {
		acknowledged, unknown := e.keys[i].acknowledged.Load(), e.keys[i].unknown.Load()
		t.Acknowledged += acknowledged
		t.Unknown += unknown
		t.Lost += max(0, acknowledged-stored[i].n)
		t.Extra += max(0, stored[i].n-acknowledged-unknown)
		if unknown == 0 && stored[i].n == acknowledged && stored[i].sum != e.keys[i].sum.Load() {
			t.Mixed++
		}
	}
	return t
}
