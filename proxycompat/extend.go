package proxycompat

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
)

// Changes describes a proxy as a difference from a profile; zero fields change nothing. Package profilefile
// reads Changes from a file, with the keys of the tags.
type Changes struct {
	Name  string `json:"name" yaml:"name"` // of the new profile, lower case; required
	Title string `json:"title" yaml:"title,omitempty"`
	About string `json:"about" yaml:"about,omitempty"`
	// The error text for a refused command: %s is the command in upper case, %l in lower. "-": the proxy closes the
	// connection.
	Refusal string `json:"refusal" yaml:"refusal,omitempty"`
	Hash    string `json:"hash" yaml:"hash,omitempty"`       // codis, cluster, config or none
	HashTag string `json:"hashTag" yaml:"hashTag,omitempty"` // see Profile.WithHashTag
	Backend string `json:"backend" yaml:"backend,omitempty"` // see Profile.Over

	Idle    string `json:"idle" yaml:"idle,omitempty"`       // the proxy closes a connection after it: "30m", or "never"
	Clients string `json:"clients" yaml:"clients,omitempty"` // the limit on client connections: "1000", or "unlimited"

	Rules []RuleChange `json:"commands" yaml:"commands,omitempty"`
}

// RuleChange replaces the rule of some commands. It has precedence over Changes.Backend, because it records
// an observation. A rule for a container ("SCRIPT") does not apply to subcommands ("SCRIPT LOAD") that have
// a rule in the extended profile.
type RuleChange struct {
	// Names in any case; a subcommand with its container; "*" for all commands without a rule.
	Commands CommandNames `json:"command" yaml:"command,flow"`
	Verdict  string       `json:"verdict" yaml:"verdict"` // as Verdict.String has it
	Why      string       `json:"why" yaml:"why"`         // the consequence; required
	Source   string       `json:"source" yaml:"source"`   // the origin and date of the observation; required
	Instead  string       `json:"instead" yaml:"instead,omitempty"`
	Error    string       `json:"error" yaml:"error,omitempty"` // the error text; empty: that of the profile

	// The number of arguments that the proxy accepts: "2", "2+", "2-4", "pairs", or "3+keys" with a positive key count.
	Args string `json:"args" yaml:"args,omitempty"`
	// The routing word: its index, "local", "any" or "all". "replica": the first key, and a replica may answer.
	Route string `json:"route" yaml:"route,omitempty"`
	// Key positions of a command that Redis does not have: "1", "1:-1", "1:-1:2", "num2", "-"; default "1".
	Keys string `json:"keys" yaml:"keys,omitempty"`
}

// CommandNames is a list of commands. In a YAML file, a single command needs no list.
type CommandNames []string

// UnmarshalYAML decodes a name or a list of names.
func (c *CommandNames) UnmarshalYAML(decode func(any) error) error {
	var name string
	if decode(&name) == nil {
		*c = CommandNames{name}
		return nil
	}
	return decode((*[]string)(c))
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
	e, err := p.extend(c, true)
	if err != nil {
		return nil, err
	}
	e.server = p.server && c.Hash == "" && len(c.Rules) == 0
	return e, nil
}

// extend is Extend for rules that are the user's own (see Rule.ours), and for those of an embedded profile.
func (p *Profile) extend(c Changes, ours bool) (_ *Profile, err error) {
	if c.Name == "" || c.Name != strings.ToLower(c.Name) || strings.ContainsAny(c.Name, " \t\n@") {
		return nil, fmt.Errorf("proxycompat: bad name %q for a profile: want one word in lower case, without @", c.Name)
	}
	e := *p
	e.name, e.rows = c.Name, maps.Clone(p.rows)
	e.title, e.about = cmp.Or(c.Title, c.Name), cmp.Or(c.About, fmt.Sprintf("%s, changed: %s", p.name, p.about))
	switch c.Refusal {
	case "":
	case "-":
		e.refusal = ""
	default:
		e.refusal = c.Refusal
	}
	if err := e.limits(c.Idle, c.Clients); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i, change := range c.Rules {
		if err := e.change(change, ours, seen); err != nil {
			return nil, &RuleError{i, err}
		}
	}
	result := &e
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

func (p *Profile) limits(idle, clients string) (err error) {
	switch idle {
	case "":
	case "never":
		p.idle = 0
	default:
		if p.idle, err = time.ParseDuration(idle); err != nil || p.idle <= 0 {
			return fmt.Errorf("proxycompat: bad idle time %q: want a time with its unit, as in 30m, or never", idle)
		}
	}
	switch clients {
	case "":
	case "unlimited":
		p.clients = 0
	default:
		if p.clients, err = strconv.Atoi(clients); err != nil || p.clients <= 0 {
			return fmt.Errorf("proxycompat: bad number of clients %q: want one above zero, or unlimited", clients)
		}
	}
	return nil
}

// change stores a rule for each of its commands. seen has the commands of earlier changes.
func (p *Profile) change(c RuleChange, ours bool, seen map[string]bool) (err error) {
	r := Rule{Error: c.Error, Why: c.Why, Instead: c.Instead, Source: c.Source, ours: ours}
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
		name = strings.ToUpper(strings.TrimSpace(name))
		if seen[name] {
			return fmt.Errorf("a second rule for %s: keep one", name)
		}
		seen[name] = true
		if err := p.setRow(name, r); err != nil {
			return err
		}
	}
	return nil
}
