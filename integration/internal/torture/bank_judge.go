package torture

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/rmw"
)

// value returns the stored value of a key.
func (all *stored) value(key string) rmw.Value {
	if fields, ok := all.hash[key]; ok {
		return rmw.Hash(fields)
	}
	if text, ok := all.text[key]; ok {
		return rmw.String(text)
	}
	return rmw.Value{}
}

// isOf reports whether a key is of a kind.
func isOf(kind, key string) bool { return strings.HasPrefix(key, keyPrefix+kind) }

// generationIn returns the generation in a key.
func generationIn(key string) int64 { return int64(number(key[strings.LastIndex(key, ":")+1:])) }

// bank checks the operations of a bank and its seats.
func (v *Verdict) bank(ops []Joint, all *stored) {
	banks, shows := map[int64][]Joint{}, map[int64][]Joint{}
	for _, j := range ops {
		generation := generationIn(j.Keys[0])
		if isOf(bankKind, j.Keys[0]) {
			banks[generation] = append(banks[generation], j)
		} else {
			shows[generation] = append(shows[generation], j)
		}
		if j.Wrong != "" {
			v.Partial++
			v.example("%s: %s", j.Keys[0], j.Wrong)
		}
		if j.Odd {
			v.Errors = append(v.Errors, j.Err)
		}
	}
	for _, generation := range slices.Sorted(maps.Keys(banks)) {
		v.accounts(generation, banks[generation], all)
	}
	for _, generation := range slices.Sorted(maps.Keys(shows)) {
		v.show(generation, shows[generation], all)
	}
	if len(v.Errors) > 5 {
		v.Errors = append(v.Errors[:5:5], fmt.Sprintf("and %d other errors", len(v.Errors)-5))
	}
}

// accounts checks the accounts of one generation.
func (v *Verdict) accounts(generation int64, ops []Joint, all *stored) {
	final := map[string][]string{}
	var values []rmw.Value
	for n := range bankAccounts {
		key := accountKey(n, generation).Name
		values = append(values, all.value(key))
		_, final[key] = split(values[n])
	}
	if text := unbalanced(values); text != "" {
		v.Partial++
		v.example("generation %d: in the end %s", generation, text)
	}
	for _, j := range ops {
		if j.ID != "" {
			v.joint(j, final)
		}
	}
	if !serializable(ops, final) {
		v.NotLinearizable = append(v.NotLinearizable, fmt.Sprintf("%s:%d", bankKind, generation))
	}
}

// joint checks one update: each of its keys has its id once, after the ids that fn got, or none has it.
func (v *Verdict) joint(j Joint, final map[string][]string) {
	stored, twice, chained := 0, false, true
	for i, key := range j.Keys {
		at := slices.Index(final[key], j.ID)
		if at < 0 {
			continue
		}
		stored++
		twice = twice || slices.Contains(final[key][at+1:], j.ID)
		chained = chained && (j.Outcome != Acknowledged || i < len(j.Seen) && j.Seen[i].in(final[key]) && j.Seen[i].N == at)
	}
	switch {
	case j.Outcome == Acknowledged && stored == 0:
		v.Lost++
		v.example("%s was acknowledged and is in none of %s", j.ID, j.Keys)
	case j.Outcome == NotWritten && stored > 0:
		v.Ghost++
		v.example("%s is in %d of %s, and was said not to be written: %s", j.ID, stored, j.Keys, j.Err)
	case stored > 0 && stored < len(j.Keys):
		v.Partial++
		v.example("%s, %v, is in %d of %s", j.ID, j.Outcome, stored, j.Keys)
	}
	if twice {
		v.Double++
		v.example("%s is there several times", j.ID)
	}
	if !chained {
		v.Chain++
		v.example("%s was given other values than those before it", j.ID)
	}
}

// in reports whether the prefix is one of a list.
func (p Prefix) in(list []string) bool {
	return p.N == 0 || p.N <= len(list) && list[p.N-1] == p.Last
}

// serializable reports whether one order explains all updates and reads, and agrees with time: a strict serializability.
// Ids are only appended, so that the final lists tell the order of the updates of each key, and what a read precedes and
// follows. Such an order exists exactly if the graph of these relations has no cycle.
func serializable(ops []Joint, final map[string][]string) bool {
	g := graph{}
	writers := map[string]int{} // of an id in a key
	for n, j := range ops {
		for _, key := range j.Keys {
			if j.ID != "" && slices.Contains(final[key], j.ID) {
				writers[key+" "+j.ID] = n
			}
		}
	}
	writer := func(key string, at int) (n int, known bool) {
		if at < 0 || at >= len(final[key]) {
			return 0, false
		}
		n, known = writers[key+" "+final[key][at]]
		return n, known
	}
	follow := func(before, after int, known bool) {
		if known && before != after {
			g.add(before, after)
		}
	}
	for key, list := range final {
		for at := 1; at < len(list); at++ {
			before, known := writer(key, at-1)
			after, also := writer(key, at)
			follow(before, after, known && also)
		}
	}
	var timed []int
	for n, j := range ops {
		stored := false
		for i, key := range j.Keys {
			stored = stored || j.ID != "" && slices.Contains(final[key], j.ID)
			if j.Outcome != Acknowledged || i >= len(j.Seen) {
				continue
			}
			if !j.Seen[i].in(final[key]) {
				return false
			}
			before, known := writer(key, j.Seen[i].N-1)
			follow(before, n, known)
			after, known := writer(key, j.Seen[i].N)
			follow(n, after, known)
		}
		if j.Outcome == Acknowledged || stored {
			timed = append(timed, n)
		}
	}
	g.overTime(ops, timed)
	return g.acyclic()
}

// graph has the operations that must follow each operation.
type graph map[int][]int

func (g graph) add(before, after int) { g[before] = append(g[before], after) }

// overTime adds that an operation follows all that had returned before it began. A node for each moment of a return keeps the
// graph small.
func (g graph) overTime(ops []Joint, timed []int) {
	var returned []int
	for _, n := range timed {
		if ops[n].Outcome == Acknowledged { // another one may take effect later
			returned = append(returned, n)
		}
	}
	slices.SortFunc(returned, func(a, b int) int { return cmp.Compare(ops[a].Return, ops[b].Return) })
	for i, n := range returned {
		moment := len(ops) + i
		g.add(n, moment)
		if i > 0 {
			g.add(moment-1, moment)
		}
	}
	for _, n := range timed {
		before, _ := slices.BinarySearchFunc(returned, ops[n].Call, func(m int, at int64) int { return cmp.Compare(ops[m].Return, at) })
		if before > 0 {
			g.add(len(ops)+before-1, n)
		}
	}
}

// acyclic removes nodes that nothing precedes, until none is left.
func (g graph) acyclic() bool {
	preceding, nodes := map[int]int{}, map[int]bool{}
	for n, after := range g {
		nodes[n] = true
		for _, m := range after {
			nodes[m] = true
			preceding[m]++
		}
	}
	var free []int
	for n := range nodes {
		if preceding[n] == 0 {
			free = append(free, n)
		}
	}
	removed := 0
	for len(free) > 0 {
		n := free[len(free)-1]
		free = free[:len(free)-1]
		removed++
		for _, m := range g[n] {
			if preceding[m]--; preceding[m] == 0 {
				free = append(free, m)
			}
		}
	}
	return removed == len(nodes)
}

// show checks the bookings of one generation.
func (v *Verdict) show(generation int64, ops []Joint, all *stored) {
	s := show{seats: map[string]string{}, index: indexed(all.value(indexKey(generation).Name)), records: map[string]string{}}
	for n := range seatCount {
		s.seats[fmt.Sprint(n)] = all.value(seatKey(n, generation).Name).Text()
	}
	record := func(id string) string { return all.value(recordKey(id, generation).Name).Fields()["seats"] }
	for id := range s.index {
		s.records[id] = record(id)
	}
	cancelled, cancels := map[string]bool{}, map[string]int{} // perhaps, and certainly
	for _, j := range ops {
		if j.Cancels != "" && j.Outcome != NotWritten {
			cancelled[j.Cancels] = true
		}
		if j.Cancels != "" && j.Outcome == Acknowledged {
			cancels[j.Cancels]++
		}
		if j.ID != "" {
			s.records[j.ID] = record(j.ID)
		}
	}
	if text := s.problem(); text != "" {
		v.Partial++
		v.example("show %d: in the end %s", generation, text)
	}
	for _, j := range ops {
		switch {
		case j.ID == "":
		case j.Outcome == Acknowledged && s.records[j.ID] == "" && !cancelled[j.ID]:
			v.Lost++
			v.example("show %d: booking %s was acknowledged and is not there", generation, j.ID)
		case j.Outcome == NotWritten && (s.records[j.ID] != "" || cancelled[j.ID]):
			v.Ghost++
			v.example("show %d: booking %s is there, and was said not to be written: %s", generation, j.ID, j.Err)
		case s.records[j.ID] != "" && s.index[j.ID] == "":
			v.Partial++
			v.example("show %d: booking %s has a record, and is not in the index", generation, j.ID)
		}
	}
	for id, n := range cancels {
		if s.records[id] != "" {
			v.Lost++
			v.example("show %d: the cancellation of %s was acknowledged, and the booking is there", generation, id)
		}
		if n > 1 { // the second one was given a value of before the first
			v.Chain++
			v.example("show %d: booking %s was cancelled %d times", generation, id, n)
		}
	}
}
