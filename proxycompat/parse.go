package proxycompat

import (
	"fmt"
	"strings"
)

// Parse reads a profile from text; file is used in errors only. Use it to
// describe a proxy of your own, for instance a cloud vendor's.
//
// Lines that start with "#" and empty lines are comments. A line that starts
// with "@" sets "@name", "@about", "@refusal" (an error text with %s for the
// command; without it the proxy closes the connection) or "@hash codis". Every
// other line is a row of eight fields, separated by tabs, "-" for none:
//
//	command verdict args keys route why instead source
//
// args is how many arguments the proxy itself insists on: "-", "2", "2+" or
// "pairs". keys is where the keys are: "1", "1:-1", "1:-1:2", "num2", and
// "1+num2" or "1+store" for both. route is the index of the word that the
// proxy routes by. The row of command "*" is for every command without a row.
func Parse(file, text string) (*Profile, error) {
	p := &Profile{rules: map[string]*Rule{}}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, "\r")
		fail := func(format string, args ...any) error {
			return fmt.Errorf("proxycompat: %s:%d: %s", file, i+1, fmt.Sprintf(format, args...))
		}
		switch {
		case strings.TrimSpace(line) == "" || line[0] == '#':
			continue
		case line[0] == '@':
			if err := p.directive(line); err != nil {
				return nil, fail("%v", err)
			}
			continue
		}
		r, err := parseRow(line)
		if err != nil {
			return nil, fail("%v", err)
		}
		if r.Command == "*" {
			if p.other != nil {
				return nil, fail("a second * row")
			}
			p.other = r
			continue
		}
		if p.rules[r.Command] != nil {
			return nil, fail("a second row for %s", r.Command)
		}
		p.rules[r.Command] = r
	}
	switch {
	case p.name == "":
		return nil, fmt.Errorf("proxycompat: %s: no @name", file)
	case p.other == nil:
		return nil, fmt.Errorf("proxycompat: %s: no row for *, so unlisted commands have no rule", file)
	}
	return p, nil
}

func (p *Profile) directive(line string) error {
	word, value, _ := strings.Cut(line[1:], " ")
	value = strings.TrimSpace(value)
	switch word {
	case "name":
		p.name = value
	case "about":
		p.about = value
	case "refusal":
		p.refusal = value
	case "hash":
		if value != "codis" {
			return fmt.Errorf("unknown @hash %q, known is codis", value)
		}
		p.hash = value
	default:
		return fmt.Errorf("unknown directive @%s", word)
	}
	return nil
}

func parseRow(line string) (*Rule, error) {
	f := strings.Split(line, "\t")
	if len(f) != 8 {
		return nil, fmt.Errorf("want 8 fields separated by tabs, got %d", len(f))
	}
	for i := range f {
		if f[i] = strings.TrimSpace(f[i]); f[i] == "-" {
			f[i] = ""
		}
	}
	if f[0] == "" || f[0] != strings.ToUpper(f[0]) || strings.Contains(f[0], " ") {
		return nil, fmt.Errorf("bad command %q: want one word in upper case", f[0])
	}
	r := &Rule{Command: f[0], Why: f[5], Instead: f[6], Source: f[7]}
	var err error
	if r.Verdict, err = ParseVerdict(f[1]); err != nil {
		return nil, err
	}
	if r.args, err = parseArgs(f[2]); err != nil {
		return nil, err
	}
	if r.keys, err = parseKeys(f[3]); err != nil {
		return nil, err
	}
	if f[4] != "" {
		a, err := parseArgs(f[4])
		if err != nil || a.min != a.max {
			return nil, fmt.Errorf("bad route %q: want the index of one word", f[4])
		}
		r.route = a.min
	}
	if r.Why == "" || r.Source == "" {
		return nil, fmt.Errorf("%s has no reason or no source", r.Command)
	}
	return r, nil
}
