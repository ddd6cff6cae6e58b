package torture

import (
	"cmp"
	"maps"
	"slices"
)

// sections finds overlapping holders of one lock, and decreasing tokens.
func (v *Verdict) sections(all []Section) {
	byName := map[string][]Section{}
	for _, s := range all {
		if s.Refused != "" {
			v.Refused++
			v.example("%s: a section within one was refused: %s", s.Names[0], s.Refused)
		}
		for _, name := range s.Names {
			byName[name] = append(byName[name], s)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		sections := byName[name]
		slices.SortFunc(sections, func(a, b Section) int { return cmp.Compare(a.Enter, b.Enter) })
		var last Section // of the sections so far, the one with the latest Held
		token := uint64(0)
		for _, s := range sections {
			if s.Enter < last.Held && s.Held > s.Enter {
				v.Overlap++
				v.example("%s: held by %d until %v, and by %d from %v", name, last.Process, last.Held, s.Process, s.Enter)
			}
			if s.Held > last.Held {
				last = s
			}
			if s.Token != 0 && s.Token < token {
				v.Stale++
				v.example("%s: token %d was drawn after %d", name, s.Token, token)
			}
			token = max(token, s.Token)
		}
	}
}

// transfers checks that all completed transfers fit one total order: two transfers with two lists in common
// have the same order in both, and no cycle goes through the three lists.
func (v *Verdict) transfers(all []Section, values *stored) {
	names, done := map[string]bool{}, map[string]bool{}
	for _, s := range all {
		if s.ID == "" || !s.Done {
			continue
		}
		done[s.ID] = true
		for _, name := range s.Names {
			names[name] = true
		}
	}
	next, before := map[string][]string{}, map[string]int{} // per list: the following transfers, and the number of preceding ones
	for name := range names {
		last := ""
		for _, id := range values.list(name) {
			if !done[id] {
				continue
			}
			if last != "" {
				next[last] = append(next[last], id)
				before[id]++
			}
			last = id
		}
	}
	var free []string
	for id := range done {
		if before[id] == 0 {
			free = append(free, id)
		}
	}
	ordered := 0
	for ; len(free) > 0; ordered++ {
		id := free[len(free)-1]
		free = free[:len(free)-1]
		for _, other := range next[id] {
			if before[other]--; before[other] == 0 {
				free = append(free, other)
			}
		}
	}
	if v.Torn = len(done) - ordered; v.Torn > 0 {
		v.example("%d of %d transfers are in no order that all lists agree on", v.Torn, len(done))
	}
}
