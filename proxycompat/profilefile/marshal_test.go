package profilefile_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/profilefile"
)

// awkward are texts that YAML would read as other types.
var awkward = []string{
	"null", "~", "true", "yes", "off", "0", "007", "0x1F", "1e3", ".inf", "-", "--- a", "...", "? a", "- a", "a: b", "a #b", "#a",
	"*a", "&a", "!a", "%a", "@a", "`a", "|", ">", "'", "\"", "''a", `"a"`, "{}", "[a", "a]", ",", "<<", "=", "2026-01-02", "12:30:45",
	" a", "a ", "\ta", "a\t", "\t\n]:", "a\nb", "a\n", "\n", "\na", "a\n\n  b\n", "  a\nb", "a\r\nb", "\r", "a\x00b", "\x7f", "\u0085",
	"\u2028a", "\u2029", "\ufeff", "\ufeffa", "\u00a0", "😀", "é", "\\", `\n`, "ERR '%s' is: \"not\" allowed", "\ufffd", "\uffff", "\u200b",
}

func randomText(r *rand.Rand) string {
	var s strings.Builder
	s.WriteString(awkward[r.IntN(len(awkward))])
	for r.IntN(3) == 0 {
		s.WriteString(awkward[r.IntN(len(awkward))])
	}
	if r.IntN(50) == 0 {
		for range 200 {
			s.WriteString(" " + awkward[r.IntN(len(awkward))])
		}
	}
	return s.String()
}

func maybe(r *rand.Rand, s string) string {
	if r.IntN(2) == 0 {
		return ""
	}
	return s
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

func randomRules(r *rand.Rand) []proxycompat.RuleChange {
	var rules []proxycompat.RuleChange
	commands := []string{"*", "get", "SET", "client id", "Client", "null", "YES", "0x1", "~", "1.5", "script LOAD", "#", "-", "[x]"}
	r.Shuffle(len(commands), func(i, j int) { commands[i], commands[j] = commands[j], commands[i] })
	for len(commands) > 0 && r.IntN(6) > 0 {
		n := min(1+r.IntN(3), len(commands))
		rules = append(rules, proxycompat.RuleChange{
			Commands: commands[:n], Verdict: proxycompat.Verdict(r.IntN(10)).String(), Why: randomText(r), Source: randomText(r),
			Instead: maybe(r, randomText(r)), Error: maybe(r, randomText(r)),
			Args: pick(r, "", "-", "0", "2", "2+", "pairs"), Route: pick(r, "", "-", "1", "3", "local", "any", "all"),
			Keys: pick(r, "", "-", "1", "1:-1", "1:-1:2", "num2", "2+store3", "after1:STREAMS", "migrate"),
		})
		commands = commands[n:]
	}
	return rules
}

func TestMarshalRefuses(t *testing.T) {
	codis := proxycompat.Codis32()
	mine := extended(t, codis, proxycompat.Changes{Name: "mine"})
	rule := func(command, why string) proxycompat.RuleChange {
		return proxycompat.RuleChange{Commands: []string{command}, Verdict: "ok", Why: why, Source: "s"}
	}
	for _, c := range []struct {
		name  string
		base  *proxycompat.Profile
		rules []proxycompat.RuleChange
		want  string
	}{
		{"My Proxy", codis, nil, `profilefile: not written: proxycompat: bad name "My Proxy"`},
		{"mine", codis, []proxycompat.RuleChange{rule("GET", "w"), rule("A B C", "w")}, "proxycompat: rule 2: "},
		{"mine", codis, []proxycompat.RuleChange{rule("GET", "w"), rule("get", "w")}, "proxycompat: rule 2: a second rule for GET"},
		{"mine", codis, []proxycompat.RuleChange{rule("GET", "\t\n]:")}, "profilefile: not written"},
		{"other", codis.AllowTagged(), nil, "the base must be one of Lookup's"},
		{"other", mine, nil, `no profile named "mine"`},
	} {
		_, err := profilefile.Marshal(c.name, c.base, c.rules)
		require.ErrorContains(t, err, c.want)
		var bad *proxycompat.RuleError
		if strings.Contains(c.want, "rule 2") {
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, 1, bad.Index)
		}
	}
}

// FuzzMarshal adds a rule with these texts to random ones. Every profile of printable texts survives a round trip;
// others may be refused, but are never changed.
func FuzzMarshal(f *testing.F) {
	f.Add(uint64(0), "why", "instead")
	f.Add(uint64(1), "a\n b", " \t")
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		f.Add(seed, randomText(r), randomText(r))
	}
	bases := map[string]*proxycompat.Profile{}
	for _, name := range []string{"codis", "codis@3.2", "twemproxy", "redis"} {
		base, err := proxycompat.Lookup(name)
		require.NoError(f, err)
		bases[name] = base
	}
	f.Fuzz(func(t *testing.T, seed uint64, why, instead string) {
		r := rand.New(rand.NewPCG(seed, 1))
		base := bases[pick(r, "codis", "codis@3.2", "twemproxy", "redis")]
		rules := []proxycompat.RuleChange{{Commands: []string{"X"}, Verdict: "ok", Why: why, Source: why, Instead: instead}}
		if why == "" {
			rules = nil
		}
		rules = append(rules, randomRules(r)...)
		for _, of := range []struct{ written, read *proxycompat.Profile }{{base, nil}, {nil, base}} {
			data, err := profilefile.Marshal("mine", of.written, rules)
			if err != nil && strings.ContainsFunc(fmt.Sprint(rules), func(r rune) bool { return !unicode.IsPrint(r) }) {
				continue
			}
			require.NoError(t, err)
			got, err := profilefile.Extend(of.read, "mine.yaml", data)
			require.NoError(t, err)
			require.Equal(t, extended(t, base, proxycompat.Changes{Name: "mine", Rules: rules}), got, "%s", data)
		}
	})
}
