package proxycompat

import (
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Check reports whether the command may be sent to this proxy; args[0] is the command. A refusal is a
// [*RefusedError].
//
// Check refuses these:
//
//   - the verdicts Refused, Closes, Misrouted and HarmsOthers
//   - a number of arguments that the proxy does not accept
//   - an argument that the server behind the proxy does not support, if [Profile.Over] set its version
//   - OneKey with more than one key, and SameSlot with keys of different slots
//   - a script without a key, if the proxy routes scripts by their key
//
// Split passes although it is not atomic, because the effect on each key is right. Backend and Unknown
// pass, because only the server can decide. Check does not look at keys across several commands, nor into
// scripts. Check passes if there are no arguments.
func (p *Profile) Check(args ...string) error {
	return check(p, args, same[string])
}

// CheckCmd is [Profile.Check] for a go-redis command. It does not allocate
// when the command passes.
func (p *Profile) CheckCmd(cmd redis.Cmder) error {
	return check(p, cmd.Args(), wordOf)
}

func same[S any](s S) S { return s }

func check[A any](p *Profile, args []A, word func(A) string) error {
	if len(args) == 0 {
		return nil
	}
	name := word(args[0])
	r, n := find(p, args, word), len(args)
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
	wordAt := func(i int) string { return word(args[i]) }
	l := r.keys.find(n, wordAt)
	if r.args.counted && l.stated <= 0 {
		return p.refused(name, r, "numkeys is no positive number, so there is no key to route by; declare the one key that is used")
	}
	if l.stated == 0 && r.keys.first == 0 && r.Verdict == OneKey {
		return p.refused(name, r, "numkeys is 0, so there is no key to route by; declare the one key that is used")
	}
	keys := max(l.count(), l.stated)
	if keys <= 1 || l.same(wordAt) || (p.tagged || r.Verdict == SameSlot) && p.sameSlot(wordAt, &l) {
		return nil
	}
	if r.Verdict == SameSlot {
		return p.refused(name, r, fmt.Sprintf("%d keys that share no slot, and %s", keys, r.Why))
	}
	return p.refused(name, r, fmt.Sprintf("%d keys, and %s", keys, r.Why))
}

// textOf returns a text argument, and "" for a number, since no option is a number.
func textOf[A any](arg A) string {
	switch v := any(arg).(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

// maxName is the length limit of a command name. All known names are shorter.
const maxName = 64

// find finds the rule for the command that args would run. word may return a string or bytes.
func find[A any, S string | []byte](p *Profile, args []A, word func(A) S) *Rule {
	name := word(args[0])
	r := lookup(p, name)
	if r.subs && len(args) > 1 {
		return lookupSub(p, r, name, word(args[1]))
	}
	return r
}

// lookup finds the rule for a command name without allocating: the upper-case name is built on the stack.
func lookup[S string | []byte](p *Profile, name S) *Rule {
	var buf [maxName]byte
	n := upper(buf[:], name)
	// A server takes a space as part of the name, so a subcommand's rule does not match here.
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

// upper writes the name to buf in upper case and returns its length, or 0 if buf is too short.
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

// passes reports whether the verdict permits a command regardless of its keys.
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

// sameSlot reports whether all keys certainly have the same slot.
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
