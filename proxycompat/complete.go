package proxycompat

import (
	"fmt"
	"strings"
)

// complete makes a rule for every command that is known: of its row, or its
// container's, or the "*" row; and of what the server behind lacks.
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
				r.keys = keySpec{first: 1, last: 1, step: 1} // as nearly all of them have it
			}
			p.rules[name] = &r
		}
	}
	for name := range p.subcommands(table) {
		first, _, _ := strings.Cut(name, " ")
		container := p.rules[first]
		if container == nil { // nobody knows it but for this
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

// subcommands are those that Redis has, and those of rows.
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

// ruleOf is the rule of a command of Redis. Of a subcommand without a row it is the
// container's.
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
	// A rule of Changes is an observation of the server behind.
	if p.backend == (Version{}) || !reaches(r.Verdict) || r.route == byItself || r.ours {
		return &r
	}
	if p.backend.Before(c.Since) {
		return &Rule{
			Command: c.Name, Verdict: Refused, keys: r.keys, route: r.route, Instead: r.Instead,
			Error:  unknownTo(p.backend, c.Name, container != nil && container.Verdict != Refused),
			Why:    fmt.Sprintf("the server behind knows it from Redis %v on, and is %v", c.Since, p.backend),
			Source: commandList,
		}
	}
	if len(c.arguments) > 0 {
		r.newer = &newer{c.arguments, p.backend}
	}
	return &r
}

// commandList is the source of rules that follow from the server's version.
const commandList = "Redis' command list"

// unknownTo is the error of a server of this version that does not know a command, or, if it
// knows the container, the subcommand; the signs are those of [Profile.RefusalText]. Seen with
// 3.2.11 and 7.0.15; the texts of versions in between are not measured.
func unknownTo(server Version, name string, sub bool) string {
	container, _, _ := strings.Cut(name, " ")
	five, seven := Version{Major: 5}, Version{Major: 7}
	switch {
	case sub && server.Before(five) && container == "COMMAND":
		return "ERR Unknown subcommand or wrong number of arguments."
	case sub && server.Before(five) && container == "PUBSUB":
		return "ERR Unknown PUBSUB subcommand or wrong number of arguments for '%2'"
	case sub && server.Before(five): // each container has its own words
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

// reaches reports whether a command of this verdict gets to a server.
func reaches(v Verdict) bool {
	switch v {
	case OK, OneKey, SameSlot, Split, Backend, Unknown, Misrouted, HarmsOthers:
		return true
	}
	return false
}

// unlisted is the rule of a command of Redis that the proxy does not know. If that
// forwards it by its first argument, what becomes of it follows.
func (p *Profile) unlisted(c *Command) Rule {
	r := *p.other
	r.ours = false // what is said of all the rest was not seen of each
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
