package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Merge adds up what many processes have found. It does not matter in which order, nor
// whether some were merged before. None of the reports is changed, and the one returned
// shares nothing with them.
//
// Counts and latencies add up, keys that several have seen count once, and minutes of the
// same time are one. Of a process that is there twice, the news count; the counts of both
// are added all the same, so merge the latest report of each process only. What the
// processes do not agree about shows: Mode is "mixed", Build and Name list all, Percent
// is the smallest, and so is Settled.
//
// Reports of different Schema do not add up, nor do those of an A/A run with others.
func Merge(reports ...*Report) (*Report, error) {
	if len(reports) == 0 {
		return nil, errors.New("report: there is nothing to merge")
	}
	first := reports[0]
	out := &Report{Schema: first.Schema, AA: first.AA, Percent: first.Percent}
	for _, r := range reports {
		switch {
		case r.Schema != Schema:
			return nil, fmt.Errorf("report: %s has schema %d, this program merges %d", whose(r), r.Schema, Schema)
		case r.AA != first.AA:
			return nil, fmt.Errorf("report: one of %s and %s is an A/A run, the other is not: these do not add up", whose(first), whose(r))
		}
		out.add(r)
	}
	out.sort()
	return out, nil
}

// whose names a report in an error.
func whose(r *Report) string {
	var names []string
	for _, p := range r.Processes {
		names = append(names, p.Name)
	}
	if len(names) == 0 {
		return fmt.Sprintf("%q", r.Name)
	}
	return fmt.Sprintf("%q of %s", r.Name, strings.Join(names, ", "))
}

func (r *Report) add(other *Report) {
	r.Name = joined(r.Name, other.Name)
	r.Build = joined(r.Build, other.Build)
	r.Mode = agreed(r.Mode, other.Mode)
	r.Percent = min(r.Percent, other.Percent)
	r.Started = earlier(r.Started, other.Started)
	r.Taken = later(r.Taken, other.Taken)
	for _, op := range other.Operations {
		i := slices.IndexFunc(r.Operations, func(o Operation) bool { return o.Domain == op.Domain && o.Name == op.Name })
		if i < 0 {
			i = len(r.Operations)
			r.Operations = append(r.Operations, Operation{Domain: op.Domain, Name: op.Name, Tallies: map[Comparator]Tally{}})
		}
		r.Operations[i].add(op)
	}
	r.Verify.add(other.Verify)
	r.Health.add(other.Health)
	r.Peak.merge(other.Peak)
	for _, m := range other.Timeline {
		r.addMinute(m)
	}
	for _, m := range other.Marks {
		m.At = utc(m.At)
		r.Marks = append(r.Marks, m)
	}
	for _, k := range other.Keys {
		r.addKey(k)
	}
	for _, s := range other.Samples {
		s.At = utc(s.At)
		s.Differences = slices.Clone(s.Differences)
		r.Samples = append(r.Samples, s)
	}
	for _, p := range other.Processes {
		r.addProcess(p)
	}
	if c := other.Calibration; c != nil {
		if r.Calibration == nil || compareCalibrations(*c, *r.Calibration) > 0 {
			news := *c
			news.Taken = utc(news.Taken)
			r.Calibration = &news
		}
	}
}

func (r *Report) addMinute(m Minute) {
	m.At = utc(m.At).Truncate(time.Minute)
	i := slices.IndexFunc(r.Timeline, func(o Minute) bool { return o.At.Equal(m.At) })
	if i < 0 {
		r.Timeline = append(r.Timeline, m)
		return
	}
	r.Timeline[i].add(m)
}

// addKey keeps all of them, which are a few of each process: to leave out now what is rare
// among some would lose its count among the next.
func (r *Report) addKey(k DirtyKey) {
	k.First = utc(k.First)
	i := slices.IndexFunc(r.Keys, func(o DirtyKey) bool { return o.Domain == k.Domain && o.Key == k.Key })
	if i < 0 {
		r.Keys = append(r.Keys, k)
		return
	}
	count := r.Keys[i].Count + k.Count
	if compareFirst(k, r.Keys[i]) < 0 {
		r.Keys[i] = k
	}
	r.Keys[i].Count = count
}

func (r *Report) addProcess(p Process) {
	p.Seen = utc(p.Seen)
	i := slices.IndexFunc(r.Processes, func(o Process) bool { return o.Name == p.Name })
	switch {
	case i < 0:
		r.Processes = append(r.Processes, p)
	case compareProcesses(p, r.Processes[i]) > 0:
		r.Processes[i] = p
	}
}

// perKind is how many samples are kept of each kind.
const perKind = 5

// sort makes the order, and what is kept of it, one that does not depend on that of the
// reports.
func (r *Report) sort() {
	slices.SortFunc(r.Operations, compareOperations)
	for i := range r.Operations {
		slices.SortFunc(r.Operations[i].Findings, compareFindings)
	}
	slices.SortFunc(r.Timeline, func(a, b Minute) int { return a.At.Compare(b.At) })
	slices.SortFunc(r.Marks, compareMarks)
	// What an operator switches, each process notes.
	r.Marks = slices.CompactFunc(r.Marks, func(a, b Mark) bool { return compareMarks(a, b) == 0 })
	slices.SortFunc(r.Keys, func(a, b DirtyKey) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), compareFirst(a, b), cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Key, b.Key))
	})
	slices.SortFunc(r.Processes, func(a, b Process) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(r.Samples, compareSamples)
	kept := map[place]int{}
	r.Samples = slices.DeleteFunc(r.Samples, func(s Sample) bool {
		kept[placeOf(s)]++
		return kept[placeOf(s)] > perKind
	})
}
