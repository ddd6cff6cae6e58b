package torture

import (
	"cmp"
	"slices"
	"time"
)

// count compares the updates of a counter with its final value. A counter has no ids, so the effects of
// updates with an unknown outcome show only in the sum.
func (v *Verdict) count(key string, ops []Operation, final int) {
	made := map[int]string{} // the id of the update acknowledged for each number
	acknowledged, unknown := 0, 0
	for _, op := range ops {
		switch {
		case op.ID == "" || op.Outcome == NotWritten:
			continue
		case op.Outcome == Unknown:
			unknown++
			continue
		}
		acknowledged++
		after := number(op.Seen[0]) + 1
		if other, twice := made[after]; twice {
			v.Lost++
			v.example("%s: %s and %s both made it %d", key, other, op.ID, after)
		} else if after > final {
			v.Lost++
			v.example("%s: %s made it %d, and it is %d", key, op.ID, after, final)
		}
		made[after] = op.ID
	}
	if more := final - acknowledged - unknown; more > 0 {
		v.Double += more
		v.example("%s: it is %d, after %d acknowledged and %d unknown updates", key, final, acknowledged, unknown)
	}
	if fell(ops) {
		v.NotLinearizable = append(v.NotLinearizable, key)
	}
}

// fell reports whether an update received a number smaller than an earlier update had left, or larger than
// all updates begun by then could produce.
func fell(ops []Operation) bool {
	type left struct {
		at     time.Duration
		number int
	}
	var known []left
	var begun []time.Duration // updates that may have been executed
	for _, op := range ops {
		if op.ID != "" && op.Outcome != NotWritten {
			begun = append(begun, op.Call)
		}
		if op.Outcome != Acknowledged {
			continue
		}
		n := number(op.Seen[0])
		if op.ID != "" {
			n++
		}
		known = append(known, left{op.Return, n})
	}
	slices.SortFunc(known, func(a, b left) int { return cmp.Compare(a.at, b.at) })
	slices.Sort(begun)
	for i := 1; i < len(known); i++ {
		known[i].number = max(known[i].number, known[i-1].number)
	}
	for _, op := range ops {
		if op.Outcome != Acknowledged {
			continue
		}
		n := number(op.Seen[0])
		before, _ := slices.BinarySearchFunc(known, op.Call, func(l left, at time.Duration) int { return cmp.Compare(l.at, at) })
		if before > 0 && known[before-1].number > n {
			return true
		}
		if most, _ := slices.BinarySearch(begun, op.Return); n > most {
			return true
		}
	}
	return false
}
