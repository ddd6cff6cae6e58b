package diff

import (
	"fmt"

	"github.com/unwatch/unwatch/rmw"
)

// Rules say what of a document counts. Each is a list of templates, in the syntax of the
// package's description. With the zero Rules everything counts and nothing is shown.
type Rules struct {
	// Ignore lists what does not count, with all below it: neither what it is, nor
	// whether it is there. Of an array whose elements do not count ("members[]"), the
	// length does not count either.
	Ignore []string

	// Sets lists arrays in which order does not count, but how often something occurs
	// does: "tags", "members[].roles".
	Sets []string

	// Show lists scalars and plain bytes that may be shown. What is below an object or
	// array has to be listed itself. Everything else is redacted.
	Show []string

	// Keys lists names that are data, like the keys of a map from users to something:
	// "unread.*". A finding calls them "*".
	Keys []string
}

// state is what the rules say of one place in a document, and of those below it. It
// never changes once compiled; nil says nothing of anything.
type state struct {
	ignore, set, show, key bool

	names   map[string]*state // that some rule names
	other   *state            // any other name
	element *state
}

func (s *state) of(name string) *state {
	if s == nil {
		return nil
	}
	if next, ok := s.names[name]; ok {
		return next
	}
	return s.other
}

func (s *state) elements() *state {
	if s == nil {
		return nil
	}
	return s.element
}

func (s *state) ignored() bool { return s != nil && s.ignore }
func (s *state) isSet() bool   { return s != nil && s.set }
func (s *state) shown() bool   { return s != nil && s.show }
func (s *state) isKey() bool   { return s != nil && s.key }

// rule is one template that has yet to be followed, and what it says at its end.
type rule struct {
	steps []step
	mark  func(*state)
}

// compiler counts states: wildcards in many places multiply.
type compiler struct{ states int }

const maxStates = 10_000

// Compile returns a Comparer by these Rules. An error is an rmw.ErrInvalid which names the
// template that is malformed.
func Compile(r Rules) (*Comparer, error) {
	var rules []rule
	for _, list := range []struct {
		name      string
		templates []string
		check     func([]step) string
		mark      func(*state)
	}{
		{"Ignore", r.Ignore, notWhole, func(s *state) { s.ignore = true }},
		{"Sets", r.Sets, anything, func(s *state) { s.set = true }},
		{"Show", r.Show, anything, func(s *state) { s.show = true }},
		{"Keys", r.Keys, aName, func(s *state) { s.key = true }},
	} {
		for i, template := range list.templates {
			steps, err := parseTemplate(template)
			if err != nil {
				return nil, fmt.Errorf("%w: Rules.%s[%d] is %q: %w", rmw.ErrInvalid, list.name, i, template, err)
			}
			if problem := list.check(steps); problem != "" {
				return nil, fmt.Errorf("%w: Rules.%s[%d] is %q: %s", rmw.ErrInvalid, list.name, i, template, problem)
			}
			rules = append(rules, rule{steps, list.mark})
		}
	}
	c := compiler{}
	root := c.compile(rules)
	if c.states > maxStates {
		return nil, fmt.Errorf("%w: the Rules combine to more than %d cases; use fewer \"*\"", rmw.ErrInvalid, maxStates)
	}
	return &Comparer{root: root}, nil
}

func anything([]step) string { return "" }

func notWhole(steps []step) string {
	if len(steps) == 0 {
		return "if the whole document does not count, there is nothing to compare"
	}
	return ""
}

func aName(steps []step) string {
	if len(steps) == 0 || steps[len(steps)-1].kind == stepElement {
		return "it must end in a name"
	}
	return ""
}

// compile merges rules into a state: what a name leads to is what all rules say that
// name it, or any name. So a walk over a document is in one state at a time.
func (c *compiler) compile(rules []rule) *state {
	if len(rules) == 0 {
		return nil
	}
	if c.states++; c.states > maxStates {
		return nil
	}
	s := &state{}
	var element, other []rule
	named := map[string][]rule{}
	for _, r := range rules {
		if len(r.steps) == 0 {
			r.mark(s)
			continue
		}
		next := rule{r.steps[1:], r.mark}
		switch first := r.steps[0]; first.kind {
		case stepElement:
			element = append(element, next)
		case stepAny:
			other = append(other, next)
		case stepName:
			named[first.name] = append(named[first.name], next)
		}
	}
	s.element = c.compile(element)
	s.other = c.compile(other)
	if len(named) > 0 {
		s.names = make(map[string]*state, len(named))
	}
	for name, rules := range named {
		s.names[name] = c.compile(append(rules, other...))
	}
	return s
}
