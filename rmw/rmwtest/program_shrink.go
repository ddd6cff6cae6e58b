package rmwtest

import (
	"iter"
	"slices"
	"time"

	"github.com/unwatch/unwatch/internal/suite"
	"github.com/unwatch/unwatch/rmw"
)

// shorter returns programs that lack something of p: a step, or a part of one.
func (p program) shorter() iter.Seq[program] {
	return func(yield func(program) bool) {
		if q := p; !q.ends {
			q.ends = true
			if !yield(q) {
				return
			}
		}
		for i := range p.steps {
			i = len(p.steps) - 1 - i
			if q := p; len(p.steps) > 1 {
				q.steps = slices.Delete(slices.Clone(p.steps), i, i+1)
				if !yield(q) {
					return
				}
			}
		}
		for i := range p.steps {
			for _, change := range changes() {
				s := p.steps[i]
				s.edits = slices.Clone(s.edits)
				if !change(&s) {
					continue
				}
				q := p
				q.steps = slices.Clone(p.steps)
				q.steps[i] = s
				if !yield(q) {
					return
				}
			}
		}
		q := p
		q.names = []string{"a", "b", "third"}
		if !slices.Equal(q.names, p.names[:3]) && !yield(q) {
			return
		}
		for i, kind := range p.keyKinds {
			if q := p; kind != rmw.KindString {
				q.keyKinds = slices.Clone(p.keyKinds)
				q.keyKinds[i] = rmw.KindString
				if !yield(q) {
					return
				}
			}
		}
	}
}

// changes simplify a step. They return false if it is as simple already.
func changes() []func(s *step) bool {
	return []func(s *step) bool{
		func(s *step) bool { return suite.Simplify(&s.nth, 0) },
		func(s *step) bool {
			n := len(s.meddle)
			s.meddle = s.meddle[:n/2]
			return n > 0
		},
		func(s *step) bool {
			n := len(s.meddle)
			s.meddle = s.meddle[:max(n-1, 0)]
			return n > 1
		},
		func(s *step) bool { return suite.Simplify(&s.rival, nil) },
		func(s *step) bool { return suite.Simplify(&s.skip, 0) },
		func(s *step) bool { return suite.Simplify(&s.first, edit{}) },
		func(s *step) bool { return s.kind != doPass && suite.Simplify(&s.pass, 0) },
		func(s *step) bool { return suite.Simplify(&s.ending, 0) },
		func(s *step) bool { return suite.Simplify(&s.cancel, notCancelled) },
		func(s *step) bool { return suite.Simplify(&s.close, false) },
		func(s *step) bool { return suite.Simplify(&s.nested, 0) },
		func(s *step) bool { return suite.Simplify(&s.ttl, 0) },
		func(s *step) bool { return suite.Simplify(&s.edit.ttl, 0) },
		func(s *step) bool { return s.kind == doUpdate && suite.Simplify(&s.edit.name, "append") },
		func(s *step) bool { return suite.Simplify(&s.store, 0) },
		func(s *step) bool { return s.crowd > 2 && suite.Simplify(&s.crowd, s.crowd/2) },
		func(s *step) bool { return s.spread > 1 && suite.Simplify(&s.spread, 1) },
		func(s *step) bool {
			changed := false
			for i := range s.edits {
				changed = suite.Simplify(&s.edits[i].ttl, 0) || changed
			}
			return changed
		},
		func(s *step) bool {
			for i := range s.edits {
				if suite.Simplify(&s.edits[i], edit{name: "same"}) {
					return true
				}
			}
			return false
		},
		func(s *step) bool {
			for i := range s.meddle {
				if suite.Simplify(&s.meddle[i].ttl, 0) {
					return true
				}
			}
			return false
		},
		func(s *step) bool { return s.pass > time.Second && suite.Simplify(&s.pass, time.Second) },
	}
}
