package proxycompat

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The profiles are data: one row per command, with its reason and its source.
//
//go:embed profiles/*.tsv
var profileFiles embed.FS

// Profile is what one proxy permits. It is immutable and safe for concurrent
// use.
type Profile struct {
	name    string
	about   string
	refusal string // "" closes the connection; %s is the command
	hash    string // "codis" or ""
	rules   map[string]*Rule
	other   *Rule // the "*" rule
	tagged  bool  // see AllowTagged
}

// Codis32 is the Codis 3.2 proxy, named "codis": the command table of its
// release3.2 branch, and what was observed with it over codis-server 3.2.11
// and over Redis 7.0.
func Codis32() *Profile { return mustEmbedded("codis") }

// Twemproxy05 is twemproxy (nutcracker) 0.5.0, named "twemproxy". It parses
// every command, so a wrong number of arguments closes the connection just as
// an unknown command does.
func Twemproxy05() *Profile { return mustEmbedded("twemproxy") }

// Redis is a plain server without a proxy, named "redis": everything passes.
func Redis() *Profile { return mustEmbedded("redis") }

// Lookup returns the profile of that name. The error lists the known names.
func Lookup(name string) (*Profile, error) {
	file, ok := embeddedFile(strings.ToLower(name))
	if !ok {
		return nil, fmt.Errorf("proxycompat: no profile named %q, known are %s", name, strings.Join(Names(), ", "))
	}
	data, err := profileFiles.ReadFile("profiles/" + file)
	if err != nil {
		return nil, fmt.Errorf("proxycompat: %w", err)
	}
	return Parse(file, string(data))
}

// Names returns the names that [Lookup] knows.
func Names() []string { return []string{"codis", "twemproxy", "redis"} }

func embeddedFile(name string) (string, bool) {
	switch name {
	case "codis":
		return "codis32.tsv", true
	case "twemproxy":
		return "twemproxy05.tsv", true
	case "redis":
		return "redis.tsv", true
	}
	return "", false
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

// About says in one sentence which proxy and version was described.
func (p *Profile) About() string { return p.about }

// Rule returns the rule for a command, in any case. A command without a row of
// its own gets the profile's rule for all others, with Command filled in.
// Subcommands have no rows: "SCRIPT LOAD" is looked up by its first word.
func (p *Profile) Rule(command string) Rule {
	name := strings.ToUpper(strings.TrimSpace(command))
	first, _, _ := strings.Cut(name, " ")
	if r, ok := p.rules[first]; ok {
		return *r
	}
	r := *p.other
	r.Command = name
	return r
}

// Rules returns all rows, sorted by command, without the "*" row.
func (p *Profile) Rules() []Rule {
	out := make([]Rule, 0, len(p.rules))
	for _, name := range slices.Sorted(maps.Keys(p.rules)) {
		out = append(out, *p.rules[name])
	}
	return out
}

// RefusalText is the error text with which the proxy answers a command that it
// refuses. It is empty for a proxy that closes the connection instead, and for
// plain Redis.
func (p *Profile) RefusalText(command string) string {
	return strings.ReplaceAll(p.refusal, "%s", strings.ToUpper(command))
}

// Slot returns the slot of a key, or -1 if the profile has no fixed rule:
// twemproxy's depends on its configuration.
func (p *Profile) Slot(key string) int {
	if p.hash == "codis" {
		return CodisSlot(key)
	}
	return -1
}

// AllowTagged returns a copy of the profile that also lets a OneKey command
// pass when all its keys are in one slot, as keys with the same {hash tag}
// are. That is right as long as no slot is being moved; while Codis moves one,
// a script with two keys can see the second key on the wrong server and an
// update can be lost. It changes nothing for a profile without slots.
func (p *Profile) AllowTagged() *Profile {
	c := *p
	c.tagged = true
	return &c
}
