package proxycompat

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Profile describes the commands that one proxy permits. It is immutable and safe for concurrent use.
type Profile struct {
	name, title, about string
	refusal            string // "" closes the connection; %s and %l are the command
	hash               hashRule
	tag                string // two characters; "": no hash tag is configured
	server             bool   // a server, without a proxy
	literal            bool   // see LiteralKeys
	backend            Version
	idle               time.Duration // the proxy closes a client idle for so long; 0: unknown, or never
	clients            int           // the limit on client connections; 0: unknown, or none
	tagged             bool          // see AllowTagged

	rows  map[string]*Rule // as decoded; subcommands as "SCRIPT LOAD"
	other *Rule            // the "*" row
	rules map[string]*Rule // of every known command, built from rows and other
}

// Codis32 is the Codis 3.2 proxy, named "codis": the command table of its release3.2 branch, and
// observations over codis-server 3.2.11 and Redis 7.0. Use [Profile.Over] to set the version of the server
// behind the proxy.
func Codis32() *Profile { return mustEmbedded("codis") }

// Twemproxy05 is twemproxy (nutcracker) 0.5.0, named "twemproxy". It parses every command, so a wrong
// number of arguments closes the connection, as an unknown command does.
func Twemproxy05() *Profile { return mustEmbedded("twemproxy") }

// Redis is a plain server without a proxy, named "redis". It permits every command.
func Redis() *Profile { return mustEmbedded("redis") }

// Lookup returns the profile of that name. "codis@3.2" is the profile over a server of that Redis version,
// as by [Profile.Over]. The error lists the known names.
func Lookup(name string) (*Profile, error) {
	base, version, over := strings.Cut(strings.ToLower(name), "@")
	if !slices.Contains(Names(), base) {
		return nil, fmt.Errorf("proxycompat: no profile named %q, known are %s; add @ and a version for the Redis behind it, as in codis@3.2",
			name, strings.Join(Names(), ", "))
	}
	p := mustEmbedded(base)
	if !over {
		return p, nil
	}
	return p.Over(version)
}

// Name returns the profile's short name, as [Lookup] takes it.
func (p *Profile) Name() string { return p.name }

// Title returns a display name: the proxy, its version and its setup.
func (p *Profile) Title() string { return p.title }

// About describes the proxy and the version in one sentence.
func (p *Profile) About() string { return p.about }

// Hash returns the rule by which the proxy finds the server of a key: "codis", "cluster", "config" (by the
// key, or its hash tag if one is configured) or "none" (there is one server).
func (p *Profile) Hash() string { return p.hash.String() }

// Idle returns the time after which the proxy closes an idle client connection; 0: unknown, or never.
func (p *Profile) Idle() time.Duration { return p.idle }

// Clients returns the limit on client connections; 0: unknown, or none.
func (p *Profile) Clients() int { return p.clients }

// Server reports whether the profile is that of a Redis without a proxy.
func (p *Profile) Server() bool { return p.server }

// LiteralKeys reports whether the proxy reads scripts and accepts only those that spell each key KEYS[1],
// with no variable or expression.
func (p *Profile) LiteralKeys() bool { return p.literal }

// Rule returns the rule for a command, in any case, or for a subcommand: "SCRIPT LOAD". For an unknown
// command it returns the rule for all others, with Command set.
func (p *Profile) Rule(command string) Rule {
	return p.RuleFor(strings.Fields(command)...)
}

// RuleFor returns the rule for the command that args would run. args[0] is the name.
func (p *Profile) RuleFor(args ...string) Rule {
	if len(args) == 0 {
		return *p.other
	}
	rule := *find(p, args, same[string])
	if rule.Command == "*" {
		rule.Command = strings.ToUpper(args[0])
	}
	return rule
}

// Rules returns the rules of all commands of Redis and of those that only the proxy has, sorted by command.
// It contains a subcommand only if its rule differs from that of its container.
func (p *Profile) Rules() []Rule {
	out := make([]Rule, 0, len(p.rules))
	for _, name := range slices.Sorted(maps.Keys(p.rules)) {
		out = append(out, *p.rules[name])
	}
	return out
}

// Others returns the rule for commands that neither the proxy nor Redis has.
func (p *Profile) Others() Rule { return *p.other }

// RefusalText returns the error text for a refused command. command is a name, a container and a
// subcommand, or all words of a command. The text is empty for plain Redis and for a proxy that closes the
// connection instead.
func (p *Profile) RefusalText(command ...string) string {
	if len(command) == 1 {
		command = strings.Fields(command[0]) // "SCRIPT LOAD"
	}
	text := p.RuleFor(command...).Error
	if text == "" {
		text = p.refusal
	}
	words := append(slices.Clone(command), "", "")
	name, second := words[0], words[1]
	return strings.NewReplacer("%s", strings.ToUpper(name), "%l", strings.ToLower(name), "%n", name, "%2", second,
		"%`", beginning(command, "`", "`, "), "%'", beginning(command, "'", "' ")).Replace(text)
}

// beginning returns the part of the arguments that servers quote of an unknown command: about 128 bytes.
func beginning(command []string, open, end string) string {
	const limit = 128
	var b strings.Builder
	for _, arg := range command[min(1, len(command)):] {
		room := limit - b.Len()
		if room <= 0 {
			break
		}
		b.WriteString(open + arg[:min(room, len(arg))] + end)
	}
	return b.String()
}

// Over returns the profile with a Redis of this version behind the proxy, such as "3.2". It refuses
// commands and arguments that this version lacks. Its name is then "codis@3.2".
func (p *Profile) Over(version string) (*Profile, error) {
	v, err := ParseVersion(version)
	if err != nil {
		return nil, err
	}
	c := *p
	base, _, _ := strings.Cut(p.name, "@")
	c.name, c.backend = base+"@"+v.String(), v
	c.complete()
	return &c, nil
}

// Backend returns the version of the Redis behind the proxy, the zero Version if it is unknown.
func (p *Profile) Backend() Version { return p.backend }

// AllowTagged returns a copy of the profile that also permits a OneKey command when all its keys are in one
// slot, as keys with the same {hash tag} are. That is safe as long as no slot migrates. While Codis
// migrates a slot, a script with two keys can see the second key on the wrong server, and an update can be
// lost. In a profile without slots, keys are together if they have the same hash tag, as set by
// [Profile.WithHashTag].
func (p *Profile) AllowTagged() *Profile {
	c := *p
	c.tagged = true
	return &c
}

// TakesTagged reports whether [Profile.AllowTagged] made this profile.
func (p *Profile) TakesTagged() bool { return p.tagged }
