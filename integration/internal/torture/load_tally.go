package torture

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/unwatch/unwatch/rmw"
)

// tally counts the updates of each key by the answers to their callers. A load has too many for a [History].
type tally struct {
	keys    []counts
	failed  atomic.Int64
	example atomic.Pointer[string] // a sample failure
}

// counts are those of one key.
type counts struct {
	acknowledged, unknown atomic.Int64
	sum                   atomic.Uint64 // of the acknowledged updates
}

func newTally(keys int) *tally { return &tally{keys: make([]counts, keys)} }

// record counts an answer other than that of a closed store.
func (t *tally) record(key int, id uint64, err error) {
	of := &t.keys[key]
	switch {
	case err == nil:
		of.acknowledged.Add(1)
		of.sum.Add(id)
	case errors.Is(err, rmw.ErrOutcomeUnknown):
		of.unknown.Add(1)
	default:
		t.failed.Add(1)
	}
	if err != nil {
		text := fmt.Sprint(loadKey(key), ": ", err)
		t.example.CompareAndSwap(nil, &text)
	}
}

// counts returns the numbers of all updates that a store has answered.
func (t *tally) counts() (all, acknowledged, unknown int) {
	for i := range t.keys {
		acknowledged += int(t.keys[i].acknowledged.Load())
		unknown += int(t.keys[i].unknown.Load())
	}
	return acknowledged + unknown + int(t.failed.Load()), acknowledged, unknown
}

// judge compares the answers with the stored values. Updates with an unknown outcome may be stored.
func (t *tally) judge(v *Verdict, stored []record) {
	for i := range t.keys {
		acknowledged, unknown, n := t.keys[i].acknowledged.Load(), t.keys[i].unknown.Load(), stored[i].n
		lost, double := max(0, acknowledged-n), max(0, n-acknowledged-unknown)
		if unknown == 0 && n == acknowledged && stored[i].sum != t.keys[i].sum.Load() {
			lost, double = 1, 1 // at least
		}
		if v.Lost, v.Double = v.Lost+int(lost), v.Double+int(double); lost+double > 0 {
			v.example("%s: %d updates are stored, of %d acknowledged and %d unknown ones", loadKey(i), n, acknowledged, unknown)
		}
	}
	if text := t.example.Load(); text != nil {
		v.example("%s", *text)
	}
}
