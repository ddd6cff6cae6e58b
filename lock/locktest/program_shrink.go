package locktest

import (
	"iter"
	"slices"
	"time"

	"github.com/unwatch/unwatch/internal/suite"
)

// shorter returns programs that lack something of p, or have something simpler instead.
func (p program) shorter() iter.Seq[program] {
	return func(yield func(program) bool) {
		if q := p; !q.ends {
			q.ends = true
			if !yield(q) {
				return
			}
			q.acts = slices.Concat(p.acts, p.last())
			if !yield(q) {
				return
			}
		}
		for _, reduce := range []reduction{dropped, inlined, changed} {
			for acts := range nested(reduce, p.acts, 0) {
				q := p
				q.acts = acts
				if !yield(q) {
					return
				}
			}
		}
		for _, replace := range []func(a *act, from, to int) bool{replaceLocker, replaceName} {
			for from := range lockers {
				for to := range from {
					q := p
					q.acts = cloned(p.acts)
					changed := false
					eachAct(q.acts, func(a *act) { changed = replace(a, from, to) || changed })
					if changed && !yield(q) {
						return
					}
				}
			}
		}
		q := p
		if q.names = []string{"a", "b", "third"}; !slices.Equal(q.names, p.names) {
			yield(q)
		}
	}
}

// last returns the calls of programRun.last as acts, which can be reduced. It leaves out the new Locker.
func (p program) last() []act {
	acts := []act{{kind: doPass, pass: p.busy() + p.target.rest()}}
	for name := range p.names {
		for i := range lockers {
			acts = append(acts, act{kind: doCall, call: lastCall(i, name)})
		}
	}
	return acts
}

// A reduction returns shorter or simpler variants of acts. At depth 0 they are those of the program.
type reduction func(acts []act, depth int) iter.Seq[[]act]

// nested reduces the acts, and then those of their calls.
func nested(reduce reduction, acts []act, depth int) iter.Seq[[]act] {
	return func(yield func([]act) bool) {
		for reduced := range reduce(acts, depth) {
			if !yield(reduced) {
				return
			}
		}
		for i, a := range acts {
			if a.call == nil {
				continue
			}
			for reduced := range nested(reduce, a.call.acts, depth+1) {
				c := *a.call
				c.acts = reduced
				a.call = &c
				if !yield(slices.Replace(slices.Clone(acts), i, i+1, a)) {
					return
				}
			}
		}
	}
}

// dropped drops half of the acts, then a quarter, and at last one, the last ones first.
func dropped(acts []act, _ int) iter.Seq[[]act] {
	return func(yield func([]act) bool) {
		for size := len(acts); size > 0; size /= 2 {
			for end := len(acts); end > 0; end -= size {
				if !yield(slices.Delete(slices.Clone(acts), max(end-size, 0), end)) {
					return
				}
			}
		}
	}
}

// inlined replaces a call by its acts.
func inlined(acts []act, depth int) iter.Seq[[]act] {
	return func(yield func([]act) bool) {
		for i, a := range acts {
			if a.call == nil {
				continue
			}
			var inner []act
			for _, b := range a.call.acts {
				if b.call != nil && depth == 0 {
					c := *b.call
					c.detached = false
					b.call = &c
				}
				if depth > 0 || b.kind != doAsk && b.kind != doCancel {
					inner = append(inner, b)
				}
			}
			if len(inner) > 0 && !yield(slices.Replace(slices.Clone(acts), i, i+1, inner...)) {
				return
			}
		}
	}
}

// changed simplifies one act.
func changed(acts []act, depth int) iter.Seq[[]act] {
	return func(yield func([]act) bool) {
		for i := range acts {
			for _, change := range changes(depth) {
				a := cloned(acts[i : i+1])
				if change(&a[0]) && !yield(slices.Replace(slices.Clone(acts), i, i+1, a...)) {
					return
				}
			}
		}
	}
}

// changes simplify an act at a depth. They return false if it is as simple already.
func changes(depth int) (all []func(a *act) bool) {
	limit := time.Duration(0)
	if depth > 0 {
		limit = 2 * time.Second // or two nested calls wait for each other
	}
	for _, change := range []func(c *callPlan) bool{
		func(c *callPlan) bool { return c.crowd > 1 && shrinkTo(c, 1) },
		func(c *callPlan) bool { return c.crowd > 3 && shrinkTo(c, c.crowd/2) },
		func(c *callPlan) bool { return c.crowd > 2 && shrinkTo(c, c.crowd-1) },
		func(c *callPlan) bool { return suite.Simplify(&c.spread, false) },
		func(c *callPlan) bool { return suite.Simplify(&c.apart, false) },
		func(c *callPlan) bool { return suite.Simplify(&c.async, false) },
		func(c *callPlan) bool { return suite.Simplify(&c.ending, 0) },
		func(c *callPlan) bool { return c.limit != 0 && suite.Simplify(&c.limit, limit) },
		func(c *callPlan) bool { return suite.Simplify(&c.data, 0) },
		func(c *callPlan) bool { return c.data > 1 && suite.Simplify(&c.data, 1) },
		func(c *callPlan) bool { return suite.Simplify(&c.other, false) },
		func(c *callPlan) bool {
			return !c.other && (depth == 0 || c.limit != 0) && suite.Simplify(&c.way, byWithLock)
		},
		func(c *callPlan) bool { return suite.Simplify(&c.blind, true) },
		func(c *callPlan) bool { return suite.Simplify(&c.detached, false) },
		func(c *callPlan) bool { return suite.Simplify(&c.locker, 0) },
		func(c *callPlan) bool { return suite.Simplify(&c.name, 0) },
	} {
		all = append(all, func(a *act) bool { return a.call != nil && change(a.call) })
	}
	for _, pass := range []time.Duration{
		time.Millisecond, 50 * time.Millisecond, time.Second, 6 * time.Second, 45 * time.Second, 3 * time.Minute,
	} {
		all = append(all, func(a *act) bool { return a.pass > pass && suite.Simplify(&a.pass, pass) })
	}
	return append(all, func(a *act) bool { return suite.Simplify(&a.locker, 0) }, func(a *act) bool { return suite.Simplify(&a.name, 0) })
}

// shrinkTo makes a crowd smaller.
func shrinkTo(c *callPlan, crowd int) bool {
	if crowd == 1 {
		c.spread, c.apart = false, false
	}
	return suite.Simplify(&c.crowd, crowd)
}

func replaceLocker(a *act, from, to int) bool {
	field := &a.locker
	if a.call != nil {
		field = &a.call.locker
	}
	return *field == from && suite.Simplify(field, to)
}

func replaceName(a *act, from, to int) bool {
	field := &a.name
	if a.call != nil {
		field = &a.call.name
	}
	return *field == from && suite.Simplify(field, to)
}

// cloned copies acts and their calls.
func cloned(acts []act) []act {
	acts = slices.Clone(acts)
	eachAct(acts, func(a *act) {
		if a.call != nil {
			c := *a.call
			c.acts = slices.Clone(c.acts)
			a.call = &c
		}
	})
	return acts
}
