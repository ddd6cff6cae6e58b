package torture

import (
	"cmp"
	"maps"
	"slices"
	"time"
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

// late counts the writes to the external store by a process that had not seen its lock held since another
// process had entered, which wrote before. Without its token check the store takes all of them.
func (v *Verdict) late(all []Section) {
	type write struct {
		Write
		*Section
	}
	byName := map[string][]write{}
	for i, s := range all {
		for _, w := range s.Writes {
			byName[s.Names[0]] = append(byName[s.Names[0]], write{w, &all[i]})
		}
	}
	for name, writes := range byName {
		slices.SortFunc(writes, func(a, b write) int { return cmp.Compare(a.Order, b.Order) })
		var newest, accepted time.Duration // when the last of those entered that have written
		for _, w := range writes {
			if w.Held < newest {
				v.Late++
			}
			seen := w.Held >= w.Enter // or it had lost the lock before it entered
			if seen {
				newest = max(newest, w.Enter)
			}
			if !w.Accepted || w.Token == 0 {
				continue
			}
			if w.Held < accepted {
				v.Passed++
				v.example("%s: the write of %d with token %d was accepted after one of a later holder", name, w.Process, w.Token)
			}
			if seen {
				accepted = max(accepted, w.Enter)
			}
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
