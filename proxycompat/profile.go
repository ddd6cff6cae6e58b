package proxycompat

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"
)

// The profiles are data: one row per command, with its reason and its source.
//
//go:embed profiles/*.tsv
var profileFiles embed.FS

// Profile is what one proxy permits. It is immutable and safe for concurrent
// use.
type Profile struct {
	name, title, about string
	refusal            string // "" closes the connection; %s and %l are the command
	hash               hashRule
	tag                string // two characters, where that is configured
	server             bool   // there is no proxy
	literal            bool   // see LiteralKeys
	backend            Version
	idle               time.Duration // after which it closes a client's connection; 0: unknown, or never
	clients            int           // it accepts at most; 0: unknown, or any number
	tagged             bool          // see AllowTagged

	rows  map[string]*Rule // what the table says; subcommands as "SCRIPT LOAD"
	other *Rule            // the "*" row
	rules map[string]*Rule // of every command that is known, made of rows and other
}

// Codis32 is the Codis 3.2 proxy, named "codis": the command table of its
// release3.2 branch, and what was observed with it over codis-server 3.2.11
// and over Redis 7.0. Use [Profile.Over] to say which server is behind it.
func Codis32() *Profile { return mustEmbedded("codis") }

// Twemproxy05 is twemproxy (nutcracker) 0.5.0, named "twemproxy". It parses
// every command, so a wrong number of arguments closes the connection just as
// an unknown command does.
func Twemproxy05() *Profile { return mustEmbedded("twemproxy") }

// Redis is a plain server without a proxy, named "redis": everything passes.
func Redis() *Profile { return mustEmbedded("redis") }

// Lookup returns the profile of that name, and with "codis@3.2" the same over a Redis
// of that version, as by [Profile.Over]. The error lists the known names.
func Lookup(name string) (*Profile, error) {
	base, version, over := strings.Cut(strings.ToLower(name), "@")
	if !slices.Contains(Names(), base) {
		return nil, fmt.Errorf("proxycompat: no profile named %q, known are %s; add @ and a version for the Redis behind it, as in codis@3.2",
			name, strings.Join(Names(), ", "))
	}
	data, err := profileFiles.ReadFile("profiles/" + base + ".tsv")
	if err != nil {
		return nil, fmt.Errorf("proxycompat: %w", err)
	}
	p, err := parse(base+".tsv", string(data))
	if err != nil || !over {
		return p, err
	}
	return p.Over(version)
}

// Names returns the names that [Lookup] knows, sorted.
func Names() []string {
	files, err := fs.Glob(profileFiles, "profiles/*.tsv")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(strings.TrimPrefix(f, "profiles/"), ".tsv")
	}
	return files
}

// mustEmbedded panics only if a file that was compiled into the program is
// broken, which a test rules out.
func mustEmbedded(name string) *Profile {
	p, err := Lookup(name)
	if err != nil {
		panic(err)
	}
	return p
}

// Name returns the profile's short name, as [Lookup] takes it.
func (p *Profile) Name() string { return p.name }

// Title returns a name to show: the proxy, its version and how it is set up.
func (p *Profile) Title() string { return p.title }

// About says in one sentence which proxy and version was described.
func (p *Profile) About() string { return p.about }

// Hash says by which rule the proxy finds the server of a key: "codis", "cluster",
// "config" (by the key, or its hash tag if one is configured) or "none" (there is one
// server).
func (p *Profile) Hash() string { return p.hash.String() }

// Idle is after which time without a command the proxy closes a client's connection;
// 0: not known, or never.
func (p *Profile) Idle() time.Duration { return p.idle }

// Clients is how many connections of clients the proxy accepts; 0: not known, or any
// number.
func (p *Profile) Clients() int { return p.clients }

// Server reports whether this is a Redis itself, with no proxy in front.
func (p *Profile) Server() bool { return p.server }

// LiteralKeys reports whether the proxy reads scripts, and takes only those that spell
// each key KEYS[1], with no variable or expression.
func (p *Profile) LiteralKeys() bool { return p.literal }

// Rule returns the rule for a command, in any case, or for a subcommand:
// "SCRIPT LOAD". A command that nobody knows gets the profile's rule for all
// others, with Command filled in.
func (p *Profile) Rule(command string) Rule {
	return p.RuleFor(strings.Fields(command)...)
}

// RuleFor returns the rule for a command as it would be sent, args[0] being the command.
func (p *Profile) RuleFor(args ...string) Rule {
	if len(args) == 0 {
		return *p.other
	}
	r := lookup(p, args[0])
	if r.subs && len(args) > 1 {
		r = lookupSub(p, r, args[0], args[1])
	}
	rule := *r
	if rule.Command == "*" {
		rule.Command = strings.ToUpper(args[0])
	}
	return rule
}

// Rules returns the rules of every command of Redis and of those that the proxy has
// besides, sorted by command. Subcommands are there if their rule is not that of
// their container.
func (p *Profile) Rules() []Rule {
	out := make([]Rule, 0, len(p.rules))
	for _, name := range slices.Sorted(maps.Keys(p.rules)) {
		out = append(out, *p.rules[name])
	}
	return out
}

// Others returns the rule for commands that neither the proxy nor Redis knows.
func (p *Profile) Others() Rule { return *p.other }

// RefusalText is the error text with which a refused command is answered: command is its name, or
// a container and a subcommand, or all its words, as they are sent. The text is empty for a proxy
// that closes the connection instead, and for plain Redis.
func (p *Profile) RefusalText(command ...string) string {
	if len(command) == 1 {
		command = strings.Fields(command[0]) // "SCRIPT LOAD"
	}
	text := p.RuleFor(command...).Error
	if text == "" {
		text = p.refusal
	}
	name, second := "", ""
	if len(command) > 0 {
		name = command[0]
	}
	if len(command) > 1 {
		second = command[1]
	}
	return strings.NewReplacer("%s", strings.ToUpper(name), "%l", strings.ToLower(name), "%n", name, "%2", second,
		"%`", beginning(command, "`", "`, "), "%'", beginning(command, "'", "' ")).Replace(text)
}

// beginning is what servers repeat of the arguments of an unknown command: 128 bytes or so.
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

// Over returns the profile with a Redis of this version behind the proxy, such as
// "3.2": what that does not know is refused. The name is then "codis@3.2".
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

// Backend returns the version of the Redis behind the proxy, the zero Version if
// that was not said.
func (p *Profile) Backend() Version { return p.backend }

// AllowTagged returns a copy of the profile that also lets a OneKey command
// pass when all its keys are in one slot, as keys with the same {hash tag}
// are. That is right as long as no slot is being moved; while Codis moves one,
// a script with two keys can see the second key on the wrong server and an
// update can be lost. Of a profile without slots, keys are together if the hash tag that
// [Profile.WithHashTag] says is configured is the same.
func (p *Profile) AllowTagged() *Profile {
	c := *p
	c.tagged = true
	return &c
}

// TakesTagged reports whether this is a profile of [Profile.AllowTagged].
func (p *Profile) TakesTagged() bool { return p.tagged }
