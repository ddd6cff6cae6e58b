package torture

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// trial is a set of remedies at one place.
type trial struct {
	Place
	remedies []Remedy
}

// trials returns the places of the wanted remedies. Each trial of updates of one store includes the baseline
// without a remedy.
func trials(wanted func(name string) bool) (all []*trial) {
	at := map[Place]*trial{}
	remedies := slices.DeleteFunc(Remedies(), func(r Remedy) bool { return !wanted("remedy/" + r.Name) })
	none := Remedies()[0]
	if len(remedies) > 0 && remedies[0].Name != none.Name && slices.Contains(none.Where, remedies[0].Where[0]) {
		remedies = slices.Insert(remedies, 0, none)
	}
	for _, r := range remedies {
		for _, place := range r.Where {
			if at[place] == nil {
				at[place] = &trial{Place: place}
				all = append(all, at[place])
			}
			at[place].remedies = append(at[place].remedies, r)
		}
	}
	return all
}

// generationsApart separates the keys of remedies that run at the same time.
const generationsApart = 1_000_000

// play runs one fleet for each remedy, all at once.
func (t *trial) play(ctx context.Context, s *Site, n Nemesis, d time.Duration, seed uint64) []*Result {
	err := s.clean(ctx)
	results := make([]*Result, len(t.remedies))
	for i, r := range t.remedies {
		results[i] = &Result{Topology: t.Topology, Nemesis: t.Nemesis, Remedy: r.Name, Seed: seed, History: newHistory()}
	}
	errs := make([]error, len(t.remedies))
	err = errors.Join(err, s.play(ctx, n, d, seed, nil, results, func(working context.Context) error {
		var all sync.WaitGroup
		for i, r := range t.remedies {
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
	wrong, stored, again := s.calm(ctx)
	err = errors.Join(err, again)
	for i, r := range results {
		r.stored, r.Verdict = stored, &Verdict{Forgiven: true}
		if err := errors.Join(err, errs[i]); err != nil {
			r.Errors = append(r.Errors, err.Error())
		} else {
			r.audited(wrong, i, r.tally())
			if t.remedies[i].lossless && r.Lost > 0 {
				r.Errors = append(r.Errors, fmt.Sprintf("%d updates are lost, and no failover explains them", r.Lost))
			}
			if t.remedies[i].exclusive && r.Overlap > 0 && !n.forgets {
				r.Errors = append(r.Errors, fmt.Sprintf("%d times two held one lock, and no failover explains it", r.Overlap))
			}
			if t.remedies[i].exclusive && r.Passed > 0 {
				r.Errors = append(r.Errors, fmt.Sprintf("%d late writes passed the token check", r.Passed))
			}
		}
		r.Leaked = leaked(s.Topology)
		r.count()
	}
	return results
}

// calm waits until the servers respond, audits a cut-over before a read repairs a key, and returns the content.
func (s *Site) calm(ctx context.Context) (wrong map[string]bool, all *stored, err error) {
	if s.members != nil || s.postgres != nil {
		return nil, &stored{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := s.awaitCalm(ctx); err != nil {
		return nil, nil, err
	}
	if s.sides != nil {
		if wrong, err = s.audit(ctx); err != nil {
			return nil, nil, err
		}
	}
	all, err = s.stored(ctx)
	return wrong, all, err
}

// tally counts lost and duplicate updates. It ignores the inputs of updates: after a lost update, all later
// inputs differ. It returns the keys with lost updates.
func (r *Result) tally() (lost []string) {
	for key, ops := range r.History.byKey() {
		before := r.Lost
		if isCount(key) {
			r.Verdict.count(key, ops, number(r.stored.text[key]))
		} else {
			r.ledger(key, ops, r.stored.list(key))
		}
		if r.Lost > before {
			lost = append(lost, key)
		}
	}
	r.Verdict.sections(r.History.sections)
	r.Verdict.late(r.History.sections)
	return lost
}
