package torture

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Verdict holds the findings of one cell.
type Verdict struct {
	// Forgiven: the fault makes Redis lose acknowledged values and locks. Then Lost, Chain,
	// NotLinearizable, Overlap, Stale, Torn, Partial and Desk are expected. Unfenced is not.
	Forgiven bool

	Lost   int // acknowledged ids that are missing
	Double int // ids that are stored more than once
	Ghost  int // ids reported as "not written" that are stored
	Chain  int // acknowledged updates with an input other than the result of the update before

	Overlap  int      // pairs of holders that held one lock at the same time
	Stale    int      // fencing tokens smaller than an earlier one
	Torn     int      // completed transfers that fit no total order
	Refused  int      // sections nested in one of the same name that were refused while it was held
	Unfenced int      // updates of the external store that are lost or out of order
	Late     int      // writes to the external store by holders that had lost the lock
	Passed   int      // those of them that the store accepts although it checks tokens
	Slowed   int      // stores that lost throughput on healthy keys while another server failed
	Dropped  int      // sections of healthy keys that lost their lock meanwhile
	Few      int      // operations that failed beyond the half that may, see Nemesis.half
	Partial  int      // updates of several keys that are stored or were seen in part
	Sealed   int      // keys that are sealed after a Store has touched each of them
	Forgot   int      // decisions to store values that are left although there was no fault
	Desk     []string // violated rules of the desk

	NotLinearizable []string // keys
	Undecided       []string // keys for which porcupine timed out
	Immortal        []string // keys of locks without an expiry
	Leaked          string   // goroutines of closed stores
	Rows            []Row    // of a load
	Errors          []string

	examples []string
}

// check compares a history with the final state of the servers.
func check(h *History, all *stored) *Verdict {
	v := &Verdict{Immortal: all.immortal()}
	byKey := h.byKey()
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		if isCount(key) {
			v.count(key, byKey[key], number(all.text[key]))
			continue
		}
		final := all.list(key)
		if isExternal(key) {
			e := &Verdict{}
			e.countIDs(key, byKey[key], final)
			v.Unfenced += e.Lost + e.Double + e.Ghost + e.Chain
			v.examples = append(v.examples, e.examples...)
			continue
		}
		v.countIDs(key, byKey[key], final)
		switch ok, _ := linearizable(byKey[key], final, h.now()); ok {
		case porcupine.Illegal:
			v.NotLinearizable = append(v.NotLinearizable, key)
		case porcupine.Unknown:
			v.Undecided = append(v.Undecided, key)
		}
	}
	v.sections(h.sections)
	v.transfers(h.sections, all)
	v.bank(h.joints, all)
	return v
}

// countIDs counts the occurrences of each id.
func (v *Verdict) countIDs(key string, ops []Operation, final []string) {
	times, place := map[string]int{}, map[string]int{}
	for i, id := range final {
		times[id]++
		place[id] = i
	}
	for _, op := range ops {
		if op.ID == "" {
			continue
		}
		n := times[op.ID]
		switch {
		case op.Outcome == Acknowledged && n == 0:
			v.Lost++
			v.example("%s: %s was acknowledged and is not there", key, op.ID)
		case op.Outcome == NotWritten && n > 0:
			v.Ghost++
			v.example("%s: %s is there, and was said not to be written: %s", key, op.ID, op.Err)
		}
		if n > 1 {
			v.Double++
			v.example("%s: %s is there %d times", key, op.ID, n)
		}
		if op.Outcome == Acknowledged && n == 1 && !slices.Equal(op.Seen, final[:place[op.ID]]) {
			v.Chain++
			v.example("%s: %s was given %d ids, and there are %d others before it", key, op.ID, len(op.Seen), place[op.ID])
		}
	}
}

func (v *Verdict) example(format string, args ...any) {
	if len(v.examples) < 20 {
		v.examples = append(v.examples, fmt.Sprintf(format, args...))
	}
}

// input is an operation for porcupine. A list only grows, so each of its states is a prefix of the final list, and its
// length identifies it.
type input struct {
	id    string // "": a read
	seen  int    // the length of the list that the operation received or read; -1: no prefix of the final list
	index int    // of id in the final list; -1: it is not there
}

// model is a list with appended ids. Its states are lengths.
func model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return 0 },
		Step: func(state, in, _ any) (bool, any) {
			length, op := state.(int), in.(input)
			if op.id == "" {
				return op.seen == length, length
			}
			return op.seen == length && op.index == length, length + 1
		},
		DescribeOperation: func(in, _ any) string {
			op := in.(input)
			if op.id == "" {
				return fmt.Sprintf("read %d", op.seen)
			}
			return fmt.Sprintf("add %s to %d", op.id, op.seen)
		},
		DescribeState: func(state any) string { return fmt.Sprint(state) },
	}
}

// linearizable runs porcupine. It omits updates that were not written. It includes an update with an
// unknown outcome if its id is stored; that update may have taken effect at any time after its call.
func linearizable(ops []Operation, final []string, end time.Duration) (porcupine.CheckResult, porcupine.LinearizationInfo) {
	places := map[string]int{}
	for i, id := range final {
		places[id] = i
	}
	var all []porcupine.Operation
	for _, op := range ops {
		index, there := places[op.ID]
		if !there {
			index = -1
		}
		o := porcupine.Operation{
			ClientId: op.Process, Input: input{op.ID, prefix(op.Seen, final), index}, Call: int64(op.Call), Return: int64(op.Return),
		}
		switch {
		case op.Outcome == NotWritten || op.Outcome == Unknown && !there:
			continue
		case op.Outcome == Unknown:
			o.Input, o.Return = input{op.ID, index, index}, int64(end)
		}
		all = append(all, o)
	}
	// The final state counts as a read by a further process after all operations.
	all = append(all, porcupine.Operation{
		ClientId: 99, Input: input{seen: len(final)}, Call: int64(end) + 1, Return: int64(end) + 2,
	})
	return porcupine.CheckOperationsVerbose(model(), all, 10*time.Second)
}

// prefix returns the length of seen if it is a prefix of final, else -1.
func prefix(seen, final []string) int {
	if len(seen) > len(final) || !slices.Equal(seen, final[:len(seen)]) {
		return -1
	}
	return len(seen)
}
