package proxycompat

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"time"
)

// Changes describes a proxy as a difference from a profile; zero fields change nothing. Package profilefile
// reads Changes from a file.
type Changes struct {
	Name    string // of the new profile, lower case; required
	Title   string
	About   string
	Refusal string // error text for a refused command: %s is the command in upper case, %l in lower; "-": the proxy closes the connection
	Hash    string // codis, cluster, config or none
	HashTag string // see Profile.WithHashTag
	Backend string // see Profile.Over

	Idle    time.Duration // the time after which the proxy closes an idle connection; negative: never
	Clients int           // the limit on client connections; negative: none

	Rules []RuleChange
}

// RuleChange replaces the rule of some commands. It has precedence over Changes.Backend, because it records
// an observation. A rule for a container ("SCRIPT") does not apply to subcommands ("SCRIPT LOAD") that have
// a rule in the extended profile.
type RuleChange struct {
	Commands []string // in any case; a subcommand with its container; "*" for all commands without a rule
	Verdict  string   // as Verdict.String has it
	Why      string   // the consequence; required
	Source   string   // the origin and date of the observation; required
	Instead  string
	Error    string // the error text; empty: that of the profile

	Args  string // the number of arguments that the proxy accepts: "2", "2+", "2-4", "pairs"
	Route string // the routing word: its index, "local", "any" or "all"
	Keys  string // key positions of a command that Redis does not have: "1", "1:-1", "1:-1:2", "num2", "-"; default "1"
}

// RuleError reports an invalid element of Changes.Rules.
type RuleError struct {
	Index int
	Err   error
}

func (e *RuleError) Error() string {
	return fmt.Sprintf("proxycompat: rule %d: %v", e.Index+1, e.Err)
}

func (e *RuleError) Unwrap() error { return e.Err }

// Extend returns a copy of the profile with the changes applied. An invalid rule returns a [*RuleError].
func (p *Profile) Extend(c Changes) (*Profile, error) {
	if c.Name == "" || c.Name != strings.ToLower(c.Name) || strings.ContainsAny(c.Name, " \t\n@") {
		return nil, fmt.Errorf("proxycompat: bad name %q for a profile: want one word in lower case, without @", c.Name)
	}
	e := *p
	e.name, e.rows, e.server = c.Name, maps.Clone(p.rows), p.server && c.Hash == "" && len(c.Rules) == 0
	e.title, e.about = cmp.Or(c.Title, c.Name), cmp.Or(c.About, fmt.Sprintf("%s, changed: %s", p.name, p.about))
	switch c.Refusal {
	case "":
	case "-":
		e.refusal = ""
	default:
		e.refusal = c.Refusal
	}
	if c.Idle != 0 {
		e.idle = max(c.Idle, 0)
	}
	if c.Clients != 0 {
		e.clients = max(c.Clients, 0)
	}
	for i, change := range c.Rules {
		if err := e.change(change); err != nil {
			return nil, &RuleError{i, err}
		}
	}
	result, err := &e, error(nil)
	if c.Hash != "" {
		if e.hash, err = parseHash(c.Hash); err != nil {
			return nil, fmt.Errorf("proxycompat: %w", err)
		}
	}
	if c.HashTag != "" {
		if result, err = result.WithHashTag(c.HashTag); err != nil {
			return nil, err
		}
	}
	if c.Backend != "" {
		if result.backend, err = ParseVersion(c.Backend); err != nil {
			return nil, err
		}
	}
	result.complete()
	return result, nil
}

func (p *Profile) change(c RuleChange) (err error) {
	r := Rule{Error: c.Error, Why: c.Why, Instead: c.Instead, Source: c.Source, ours: true}
	if err := r.parse(c.Verdict, c.Args, c.Route); err != nil {
		return err
	}
	if c.Keys != "" {
		r.known = true
		if r.keys, err = parseKeys(c.Keys); err != nil {
			return err
		}
	}
	switch {
	case len(c.Commands) == 0:
		return fmt.Errorf("no command: say which the rule is for")
	case c.Why == "":
		return fmt.Errorf("no reason: say why the command differs")
	case c.Source == "":
		return fmt.Errorf("no source: name the observer and the date")
	}
	for _, name := range c.Commands {
		if err := p.setRow(strings.ToUpper(strings.TrimSpace(name)), r); err != nil {
			return err
		}
	}
	return nil
}
