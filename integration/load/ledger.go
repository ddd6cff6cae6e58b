package load

import (
	"fmt"
	"sync/atomic"

	"github.com/unwatch/unwatch/rmw"
)

// record is what a key holds: how many updates it has taken, and the sum of their numbers,
// which are drawn at random. So an update that is lost and another that is carried out twice
// do not make up for each other, and a key stays as small as it was.
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

// account is what the callers know of a key.
type account struct {
	acknowledged, unknown atomic.Int64
	sum                   atomic.Uint64 // of the acknowledged
}

// ledger has an account for each key.
type ledger struct {
	accounts []account
	failed   atomic.Int64
	example  atomic.Pointer[string] // of a failure
}

func newLedger(keys int) *ledger { return &ledger{accounts: make([]account, keys)} }

// Tally is what became of the updates.
type Tally struct {
	Acknowledged int64
	Unknown      int64
	Failed       int64  // for another reason than that the store was closed
	Example      string // of a failure

	Lost  int64 // acknowledged, and not stored
	Extra int64 // stored, though fewer were acknowledged or unknown
	Mixed int64 // keys that have the right count, of other updates
}

// tally holds the accounts against what is stored. Those whose outcome is unknown may be there.
func (l *ledger) tally(stored []record) Tally {
	t := Tally{Failed: l.failed.Load()}
	if text := l.example.Load(); text != nil {
		t.Example = *text
	}
	for i := range l.accounts {
		acknowledged, unknown := l.accounts[i].acknowledged.Load(), l.accounts[i].unknown.Load()
		t.Acknowledged += acknowledged
		t.Unknown += unknown
		t.Lost += max(0, acknowledged-stored[i].n)
		t.Extra += max(0, stored[i].n-acknowledged-unknown)
		if unknown == 0 && stored[i].n == acknowledged && stored[i].sum != l.accounts[i].sum.Load() {
			t.Mixed++
		}
	}
	return t
}
