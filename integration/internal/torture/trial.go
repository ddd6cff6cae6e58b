package torture

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// trial is a set of mitigations at one place.
type trial struct {
	Place
	mitigations []Mitigation
}

// trials returns the places of the wanted mitigations.
func trials(wanted func(name string) bool) (all []*trial) {
	at := map[Place]*trial{}
	mitigations := slices.DeleteFunc(Mitigations(), func(r Mitigation) bool { return !wanted("mitigation/" + r.Name) })
	for _, r := range mitigations {
		for _, place := range r.Where {
			if at[place] == nil {
				at[place] = &trial{Place: place}
				all = append(all, at[place])
			}
			at[place].mitigations = append(at[place].mitigations, r)
		}
	}
	return all
}

// generationsApart separates the keys of mitigations that run at the same time.
const generationsApart = 1_000_000

// play runs one fleet for each mitigation, all at once.
func (t *trial) play(ctx context.Context, s *Environment, n Nemesis, d time.Duration, seed uint64) []*Result {
	err := s.clean(ctx)
	results := make([]*Result, len(t.mitigations))
	for i, r := range t.mitigations {
		results[i] = &Result{Topology: t.Topology, Nemesis: t.Nemesis, Mitigation: r.Name, Seed: seed, History: newHistory()}
	}
	errs := make([]error, len(t.mitigations))
	err = errors.Join(err, s.play(ctx, n, d, seed, nil, results, func(working context.Context) error {
		var all sync.WaitGroup
		for i, r := range t.mitigations {
			counted := counted(generation)
			f := &fleet{history: results[i].History, seed: seed, external: newExternal(r.unfenced), generation: func(kind string) int64 {
				return int64(i*generationsApart) + counted(kind)
			}}
			all.Go(func() {
				errs[i] = f.run(working, i*processes, processes, func(process int) (opened, error) {
					o, err := r.open(s, process)
					o.works = r.works
					return o, err
				})
			})
		}
		all.Wait()
		return nil
	}))
	stored, again := s.calm(ctx)
	err = errors.Join(err, again)
	for i, r := range results {
		r.stored, r.Verdict = stored, &Verdict{Forgiven: true}
		if err := errors.Join(err, errs[i]); err != nil {
			r.Errors = append(r.Errors, err.Error())
		} else {
			r.tally()
			if t.mitigations[i].lossless && r.Lost > 0 {
				r.Errors = append(r.Errors, fmt.Sprintf("%d updates are lost, and no failover explains them", r.Lost))
			}
			if t.mitigations[i].exclusive && r.Overlap > 0 && !n.forgets {
				r.Errors = append(r.Errors, fmt.Sprintf("%d times two held one lock, and no failover explains it", r.Overlap))
			}
			if t.mitigations[i].exclusive && r.Passed > 0 {
				r.Errors = append(r.Errors, fmt.Sprintf("%d late writes passed the token check", r.Passed))
			}
		}
		r.Leaked = leaked(s.Topology)
		r.count()
	}
	return results
}

// calm waits until the servers respond, audits a cut-over before a read repairs a key, and returns the content.
func (s *Environment) calm(ctx context.Context) (*stored, error) {
	if s.members != nil || s.postgres != nil {
		return &stored{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := s.awaitCalm(ctx); err != nil {
		return nil, err
	}
	if s.sides != nil {
		if err := s.audit(ctx); err != nil {
			return nil, err
		}
	}
	return s.stored(ctx)
}

// tally counts lost and duplicate updates. It ignores the inputs of updates: after a lost update, all later
// inputs differ.
func (r *Result) tally() {
	for key, ops := range r.History.byKey() {
		if isCount(key) {
			r.Verdict.count(key, ops, number(r.stored.text[key]))
		} else {
			r.countIDs(key, ops, r.stored.list(key))
		}
	}
	for _, hop := range r.stored.hops {
		r.Moves += hop
	}
	r.Verdict.sections(r.History.sections)
	r.Verdict.late(r.History.sections)
}
