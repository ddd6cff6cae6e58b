package diff

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/unwatch/unwatch/rmw"
)

// Rules configure a Comparer. Each field is a list of templates, in the syntax of the
// package's description. With the zero Rules everything counts and nothing is shown.
type Rules struct {
	// Ignore lists places that do not count, with everything below them. Neither their
	// values count nor their presence. If the elements of an array do not count
	// ("members[]"), its length does not count either.
	Ignore []string

	// Sets lists arrays without an order that counts: "tags", "members[].roles". The number
	// of equal elements counts.
	Sets []string

	// Show lists scalars and plain bytes that a token may show. A template of an object or
	// an array does not cover the places below it. Everything else is redacted.
	Show []string

	// Keys lists names that are data: "unread.*", if unread maps users to counts. A template
	// shows them as "*".
	Keys []string
}

// state holds the compiled rules for one place in a document and the places below it. It
// never changes. No rule concerns a nil state.
type state struct {
	ignore, set, show, key bool

	names   map[string]*state // names in a rule
	other   *state            // all other names
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

// rule is the rest of a template, and the mark for the state at its end.
type rule struct {
	steps []step
	mark  func(*state)
}

// compiler limits the number of states, which wildcards multiply.
type compiler struct{ states int }

const maxStates = 10_000

// Compile returns a Comparer with these Rules. The error for a malformed template is an
// rmw.ErrInvalid that names the template.
func Compile(r Rules) (*Comparer, error) {
	var rules []rule
	for _, list := range []struct {
		name      string
		templates []string
		mark      func(*state)
		misfit    func([]step) error // why a template does not fit; nil: each one does
	}{
		{"Ignore", r.Ignore, func(s *state) { s.ignore = true }, notWhole},
		{"Sets", r.Sets, func(s *state) { s.set = true }, nil},
		{"Show", r.Show, func(s *state) { s.show = true }, nil},
		{"Keys", r.Keys, func(s *state) { s.key = true }, aName},
	} {
		for i, template := range list.templates {
			steps, err := parseTemplate(template)
			if err == nil && list.misfit != nil {
				err = list.misfit(steps)
			}
			if err != nil {
				return nil, fmt.Errorf("%w: Rules.%s[%d] is %q: %w", rmw.ErrInvalid, list.name, i, template, err)
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

func notWhole(steps []step) error {
	if len(steps) == 0 {
		return errors.New("it ignores the whole document; list the places to ignore")
	}
	return nil
}

func aName(steps []step) error {
	if len(steps) == 0 || steps[len(steps)-1].kind == stepElement {
		return errors.New("it must end in a name")
	}
	return nil
}

// compile merges rules into one state. The state below a name has all rules with that name
// or with "*". So a walk over a document is in one state at a time.
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

// maxSteps bounds a template.
const maxSteps = 32

// step is one step of a template: to an element, to any name, or to one name.
type step struct {
	kind stepKind
	name string
}

type stepKind uint8

const (
	stepName stepKind = iota
	stepAny
	stepElement
)

// parseTemplate returns the steps of a template; "." has none.
func parseTemplate(template string) ([]step, error) {
	if template == "." {
		return nil, nil
	}
	switch {
	case template == "":
		return nil, errors.New(`it is empty; the document itself is "."`)
	case !utf8.ValidString(template):
		return nil, errors.New("it is not UTF-8")
	}
	var steps []step
	for rest := template; rest != ""; {
		var s step
		var err error
		switch {
		case strings.HasPrefix(rest, "[]"):
			s, rest = step{kind: stepElement}, rest[2:]
		case rest[0] == '[':
			return nil, errors.New(`an element is written "[]", without an index: a rule is for all of them`)
		case len(steps) > 0 && rest[0] != '.':
			return nil, fmt.Errorf("a dot is missing before %q", rest)
		default:
			if len(steps) > 0 {
				rest = rest[1:]
			}
			if s, rest, err = parseName(rest); err != nil {
				return nil, err
			}
		}
		if steps = append(steps, s); len(steps) > maxSteps {
			return nil, fmt.Errorf("it has more than %d steps", maxSteps)
		}
	}
	return steps, nil
}

// parseName splits a name, quoted or not, off the text.
func parseName(text string) (s step, rest string, err error) {
	if strings.HasPrefix(text, `"`) {
		return parseQuoted(text)
	}
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	name, rest := text[:end], text[end:]
	switch {
	case name == "*":
		return step{kind: stepAny}, rest, nil
	case name == "**":
		return s, "", errors.New(`there is no "**"; "*" is one name, so write it as often as there are levels`)
	case name == "":
		return s, "", errors.New("a name is missing")
	case strings.ContainsAny(name, "]*\" \t\r\n"):
		return s, "", fmt.Errorf("the name %q must be quoted", name)
	}
	return step{name: name}, rest, nil
}

func parseQuoted(text string) (s step, rest string, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&s.name); err != nil {
		return s, "", fmt.Errorf("the quoted name in %q has no end, or is no JSON string", text)
	}
	return s, text[d.InputOffset():], nil
}
