package proxycompat

import (
	"fmt"
	"strings"
)

// complete makes a rule for every known command, from the first that applies: its own row, its container's
// row, the "*" row. Then it adds the commands and arguments that the server behind the proxy lacks.
func (p *Profile) complete() {
	table := commandTable()
	p.rules = make(map[string]*Rule, len(table))
	for name, c := range table {
		if !c.Subcommand() {
			p.rules[name] = p.ruleOf(c, nil)
		}
	}
	for name, row := range p.rows {
		if table[name] == nil && !strings.Contains(name, " ") {
			r := *row
			if !r.known {
				r.keys = keySpec{first: 1, last: 1, step: 1} // as for nearly all commands
			}
			p.rules[name] = &r
		}
	}
	for name := range p.subcommands(table) {
		first, _, _ := strings.Cut(name, " ")
		container := p.rules[first]
		if container == nil { // neither Redis nor a row has the container
			r := *p.other
			r.Command = first
			container = &r
			p.rules[first] = container
		}
		r := p.rows[name]
		if c := table[name]; c != nil {
			r = p.ruleOf(c, container)
		}
		if p.rows[name] != nil || r.Verdict != container.Verdict || r.keys != container.keys || r.newer != nil {
			container.subs = true
			own := *r
			own.sub = true
			p.rules[name] = &own
		}
	}
}

// subcommands returns the subcommands of Redis and those that have rows.
func (p *Profile) subcommands(table map[string]*Command) map[string]bool {
	names := map[string]bool{}
	for name, c := range table {
		if c.Subcommand() {
			names[name] = true
		}
	}
	for name := range p.rows {
		if strings.Contains(name, " ") {
			names[name] = true
		}
	}
	return names
}

// ruleOf returns the rule of a command of Redis. A subcommand without a row has its container's rule.
func (p *Profile) ruleOf(c *Command, container *Rule) *Rule {
	var r Rule
	switch row := p.rows[c.Name]; {
	case row != nil:
		r = *row
	case container != nil:
		r = *container
		r.subs = false
	default:
		r = p.unlisted(c)
	}
	if r.Command = c.Name; !r.known {
		r.keys = c.keys
	}
	r.newer = nil
	// A rule of Changes was observed, with that server behind the proxy.
	if p.backend == (Version{}) || !reaches(r.Verdict) || r.route == byItself || r.ours {
		return &r
	}
	if p.backend.Before(c.Since) {
		return &Rule{
			Command: c.Name, Verdict: Refused, keys: r.keys, route: r.route, Instead: r.Instead,
			Error:  unknownTo(p.backend, c.Name, container != nil && container.Verdict != Refused),
			Why:    fmt.Sprintf("the server behind has it since Redis %v, and is %v", c.Since, p.backend),
			Source: commandList,
		}
	}
	if len(c.arguments) > 0 {
		r.newer = &newer{c.arguments, p.backend}
	}
	return &r
}

// commandList is the Source of rules that follow from the server's version.
const commandList = "Redis' command list"

// unknownTo returns the error text of a server of this version for an unknown command or subcommand, with
// the placeholders of [Profile.RefusalText]. The texts of 3.2.11 and 7.0.15 were observed; those of
// versions between were not.
func unknownTo(server Version, name string, sub bool) string {
	container, _, _ := strings.Cut(name, " ")
	five, seven := Version{Major: 5}, Version{Major: 7}
	switch {
	case sub && server.Before(five) && container == "COMMAND":
		return "ERR Unknown subcommand or wrong number of arguments."
	case sub && server.Before(five) && container == "PUBSUB":
		return "ERR Unknown PUBSUB subcommand or wrong number of arguments for '%2'"
	case sub && server.Before(five): // each container has its own text
	case sub && server.Before(seven):
		return "ERR Unknown subcommand or wrong number of arguments for '%2'. Try %s HELP."
	case sub:
		return "ERR unknown subcommand '%2'. Try %s HELP."
	case server.Before(five):
	case server.Before(seven):
		return "ERR unknown command `%n`, with args beginning with: %`"
	default:
		return "ERR unknown command '%n', with args beginning with: %'"
	}
	return "ERR unknown command '%n'"
}

// reaches reports whether the proxy sends a command of this verdict to a server.
func reaches(v Verdict) bool {
	switch v {
	case OK, OneKey, SameSlot, Split, Backend, Unknown, Misrouted, HarmsOthers:
		return true
	}
	return false
}

// unlisted returns the rule of a command of Redis that the proxy does not know. If the proxy forwards
// unknown commands by their first argument, the verdict follows from the position of the key.
func (p *Profile) unlisted(c *Command) Rule {
	r := *p.other
	r.ours = false // the "*" row was not observed for each command
	switch {
	case r.Verdict == Backend && p.hash == hashCluster && c.keys.several() && !strings.Contains(c.flags, "p"):
		r.Verdict = SameSlot
		r.Why = "passed on if its keys are in one slot: the server checks that"
		return r
	case r.Verdict != Unknown:
		return r
	}
	r.route = 1
	switch {
	case strings.Contains(c.flags, "b"):
		r.Verdict = HarmsOthers
		r.Why = "forwarded: blocks a connection that all clients share"
		r.Instead = "the same command without blocking, and polling"
	case strings.HasSuffix(c.Name, "SUBSCRIBE"):
		r.Verdict = HarmsOthers
		r.Why = "forwarded: turns a connection that all clients share into a subscriber"
	case c.keys.none():
	case !c.keys.atOne():
		r.Verdict = Misrouted
		r.Why = "forwarded by its first argument, which is not its key"
	case c.keys.several():
		r.Verdict = OneKey
		r.Why = "forwarded by its first key, the others are taken to be on its server"
	}
	return r
}
