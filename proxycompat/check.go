package proxycompat

import (
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Check reports whether the command may be sent to this proxy; args[0] is the
// command. A refusal is a [*RefusedError].
//
// Refused is what the proxy refuses or closes the connection on, what it sends
// to the wrong server in silence, and what harms other clients: the verdicts
// Refused, Closes, Misrouted and HarmsOthers; a number of arguments that the
// proxy does not accept; an argument that the server behind does not know, if
// [Profile.Over] says which that is; OneKey with more than one key; and SameSlot
// with keys that have no slot in common. A script that is routed by its key needs one: with
// none there is nothing to route by.
//
// Split passes, because each key's own effect is right, but it is not atomic.
// Backend and Unknown pass too: only the server can tell. Check does not look
// at keys across several commands, and not at what a script does.
//
// Check of no arguments passes: nothing would be sent.
func (p *Profile) Check(args ...string) error {
	return check(p, args, func(s string) string { return s })
}

// CheckCmd is [Profile.Check] for a go-redis command. It does not allocate
// when the command passes.
func (p *Profile) CheckCmd(cmd redis.Cmder) error {
	return check(p, cmd.Args(), wordOf)
}

func check[A any](p *Profile, args []A, word func(A) string) error {
	if len(args) == 0 {
		return nil
	}
	name := word(args[0])
	r := lookup(p, name)
	if r.subs && len(args) > 1 {
		r = lookupSub(p, r, name, word(args[1]))
	}
	n := len(args)
	if !r.passes() && r.Verdict != OneKey && r.Verdict != SameSlot {
		return p.refused(name, r, r.Why)
	}
	if !r.args.fit(n - 1) {
		return p.refused(name, r, fmt.Sprintf("%s does not accept %d argument(s) here", p.name, n-1))
	}
	if r.newer != nil {
		if a := tooNew(r.newer.arguments, r.newer.server, n, func(i int) string { return textOf(args[i]) }); a != nil {
			refused := p.refused(name, r, a.Why(r.newer.server))
			refused.Instead, refused.Source = a.Instead, commandList
			return refused
		}
	}
	if r.Verdict != OneKey && r.Verdict != SameSlot {
		return nil
	}
	l := r.keys.find(n, at(args, word))
	if r.args.counted && l.stated <= 0 {
		return p.refused(name, r, "numkeys is no positive number, so there is no key to route by; declare the one key that is used")
	}
	if l.stated == 0 && r.keys.first == 0 && r.Verdict == OneKey {
		return p.refused(name, r, "numkeys is 0, so there is no key to route by; declare the one key that is used")
	}
	keys := max(l.count(), l.stated)
	if keys <= 1 || l.same(at(args, word)) || (p.tagged || r.Verdict == SameSlot) && p.sameSlot(at(args, word), &l) {
		return nil
	}
	if r.Verdict == SameSlot {
		return p.refused(name, r, fmt.Sprintf("%d keys that share no slot, and %s", keys, r.Why))
	}
	return p.refused(name, r, fmt.Sprintf("%d keys, and %s", keys, r.Why))
}

// textOf returns an argument that is text, and "" for a number: no option is one.
func textOf[A any](arg A) string {
	switch v := any(arg).(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

// maxName is how long a command's name may be. Nobody knows of a longer one.
const maxName = 64

// lookup finds the rule for a command name without allocating: names are
// short, so they are put in upper case on the stack.
func lookup[S string | []byte](p *Profile, name S) *Rule {
	var buf [maxName]byte
	n := upper(buf[:], name)
	// A space is part of a name to a server: only subcommands are kept with one.
	if r := p.rules[string(buf[:n])]; n > 0 && r != nil && !r.sub {
		return r
	}
	return p.other
}

// lookupSub finds the rule for a subcommand of container.
func lookupSub[S string | []byte](p *Profile, container *Rule, name, sub S) *Rule {
	var buf [2*maxName + 1]byte
	n := upper(buf[:maxName], name)
	buf[n] = ' '
	n++
	m := upper(buf[n:n+maxName], sub)
	if r := p.rules[string(buf[:n+m])]; m > 0 && r != nil {
		return r
	}
	return container
}

// upper puts a name into buf, in upper case, and returns its length, 0 if it has no room.
func upper[S string | []byte](buf []byte, name S) int {
	if len(name) > len(buf) {
		return 0
	}
	for i := range len(name) {
		c := name[i]
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		buf[i] = c
	}
	return len(name)
}

// passes reports whether the verdict lets a command pass whatever its keys.
func (r *Rule) passes() bool {
	switch r.Verdict {
	case OK, Split, Backend, Unknown:
		return true
	}
	return false
}

// permitsAll reports whether no command can be refused.
func (p *Profile) permitsAll() bool {
	return len(p.rows) == 0 && p.other.Verdict == OK && p.backend == (Version{})
}

func at[A any](args []A, word func(A) string) func(int) string {
	return func(i int) string { return word(args[i]) }
}

// sameSlot reports whether the keys are sure to be together.
func (p *Profile) sameSlot(word func(int) string, l *located) bool {
	first, seen := "", false
	return l.each(func(i int) bool {
		key := word(i)
		if !seen {
			first, seen = key, true
		}
		return p.together(first, key)
	})
}

func (p *Profile) refused(name string, r *Rule, reason string) *RefusedError {
	rule := *r
	if rule.Command == "*" {
		rule.Command = strings.ToUpper(name)
	}
	return &RefusedError{
		Command: rule.Command, Profile: p.name, Rule: rule,
		Reason: reason, Instead: rule.Instead, Source: rule.Source,
	}
}
