package proxycompat

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// parse reads a profile from a table; file appears in errors only.
//
// Lines that start with "#" and empty lines are comments. A line that starts with "@" sets
//
//	@name NAME, @title TEXT, @about TEXT
//	@refusal TEXT   of the error for a refused command, %s being the command in upper
//	                case, %l in lower and %n as it was sent; without it the proxy closes the connection
//	@hash RULE      codis, cluster, config or none: see hashRule
//	@proxy none     the profile is that of a server
//	@keys literal   the proxy reads scripts and requires each key spelt KEYS[1]
//	@idle DURATION  after which the proxy closes idle clients, @clients N that it accepts at most
//
// Every other line is a row of eight fields, separated by tabs, "-" for none:
//
//	command[,command...] verdict args route error why instead source
//
// args is the number of arguments that the proxy accepts: see parseArgs. route selects the server: "-" by
// the first key, the index of a word, "local" (the proxy answers itself), "any" or "all" servers; "replica"
// is "-", where a replica of that server may answer, too. error is the error text, if it differs from
// that of @refusal. The row of command "*" applies to every command without a row; that of "SCRIPT" to
// every subcommand without one.
func parse(file, text string) (*Profile, error) {
	p := &Profile{rows: map[string]*Rule{}}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, "\r")
		var err error
		switch {
		case strings.TrimSpace(line) == "" || line[0] == '#':
		case line[0] == '@':
			err = p.directive(line)
		default:
			err = p.row(line)
		}
		if err != nil {
			return nil, fmt.Errorf("proxycompat: %s:%d: %w", file, i+1, err)
		}
	}
	switch {
	case p.name == "":
		return nil, fmt.Errorf("proxycompat: %s: no @name", file)
	case p.other == nil:
		return nil, fmt.Errorf("proxycompat: %s: no row for *, so unlisted commands have no rule", file)
	}
	p.complete()
	return p, nil
}

func (p *Profile) directive(line string) (err error) {
	word, value, _ := strings.Cut(line[1:], " ")
	value = strings.TrimSpace(value)
	switch word {
	case "name":
		p.name = value
	case "title":
		p.title = value
	case "about":
		p.about = value
	case "refusal":
		p.refusal = value
	case "hash":
		p.hash, err = parseHash(value)
	case "keys":
		if value != "literal" {
			return fmt.Errorf("bad @keys %q: want literal", value)
		}
		p.literal = true
	case "proxy":
		if value != "none" {
			return fmt.Errorf("bad @proxy %q: want none", value)
		}
		p.server = true
	case "idle":
		p.idle, err = time.ParseDuration(value)
	case "clients":
		p.clients, err = strconv.Atoi(value)
	default:
		return fmt.Errorf("unknown directive @%s", word)
	}
	return err
}

func (p *Profile) row(line string) error {
	f := strings.Split(line, "\t")
	if len(f) != 8 {
		return fmt.Errorf("want 8 fields separated by tabs, got %d", len(f))
	}
	for i := range f {
		if f[i] = strings.TrimSpace(f[i]); f[i] == "-" {
			f[i] = ""
		}
	}
	r := Rule{Error: f[4], Why: f[5], Instead: f[6], Source: f[7]}
	if err := r.parse(f[1], f[2], f[3]); err != nil {
		return err
	}
	if r.Why == "" || r.Source == "" {
		return fmt.Errorf("%s has no reason or no source", f[0])
	}
	for name := range strings.SplitSeq(f[0], ",") {
		if p.rows[name] != nil || name == "*" && p.other != nil {
			return fmt.Errorf("a second row for %s", name)
		}
		if err := p.setRow(name, r); err != nil {
			return err
		}
	}
	return nil
}

// parse sets the fields that are words in a RuleChange.
func (r *Rule) parse(verdict, args, route string) (err error) {
	if r.replica = route == "replica"; r.replica {
		route = ""
	}
	if r.Verdict, err = ParseVerdict(verdict); err != nil {
		return err
	}
	if r.args, err = parseArgs(args); err != nil {
		return err
	}
	r.route, err = parseRoute(route)
	return err
}

// setRow stores r as the row of a command.
func (p *Profile) setRow(name string, r Rule) error {
	if err := checkName(name); err != nil {
		return err
	}
	r.Command = name
	if name == "*" {
		p.other = &r
	} else {
		p.rows[name] = &r
	}
	return nil
}

// checkName accepts a command in upper case, or a command and its subcommand.
func checkName(name string) error {
	words := strings.Split(name, " ")
	if strings.Contains(name, ",") {
		return fmt.Errorf("bad command %q: of several, write a list, as in [GET, SET]", name)
	}
	odd := strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' })
	if odd || name != strings.ToUpper(name) || len(words) > 2 || words[0] == "" || words[len(words)-1] == "" || len(name) > maxName {
		return fmt.Errorf("bad command %q: want one command, or one and its subcommand", name)
	}
	return nil
}
