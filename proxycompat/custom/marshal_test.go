package custom_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/custom"
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

func TestMarshalRoundTrips(t *testing.T) {
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 1))
		base, err := proxycompat.Lookup(pick(r, "codis", "codis@3.2", "twemproxy", "redis"))
		require.NoError(t, err)
		rules := randomRules(r)
		want := extended(t, base, proxycompat.Changes{Name: "mine", Rules: rules})

		data, err := custom.Marshal("mine", base, rules)
		require.NoError(t, err, "seed %d", seed)
		got, err := custom.Extend(nil, "mine.yaml", data)
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, want, got, "seed %d: %s", seed, data)

		data, err = custom.Marshal("mine", nil, rules)
		require.NoError(t, err, "seed %d", seed)
		got, err = custom.Extend(base, "mine.yaml", data)
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, want, got, "seed %d: %s", seed, data)
	}
}

func TestMarshalRefuses(t *testing.T) {
	codis := proxycompat.Codis32()
	ok := func(command, why string) proxycompat.RuleChange {
		return proxycompat.RuleChange{Commands: []string{command}, Verdict: "ok", Why: why, Source: "s"}
	}
	_, err := custom.Marshal("My Proxy", codis, nil)
	require.ErrorContains(t, err, `custom: not written: proxycompat: bad name "My Proxy"`)

	_, err = custom.Marshal("mine", codis, []proxycompat.RuleChange{ok("GET", "w"), ok("A B C", "w")})
	var bad *proxycompat.RuleError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, 1, bad.Index)

	_, err = custom.Marshal("mine", codis, []proxycompat.RuleChange{ok("GET", "w"), ok("get", "w")})
	require.ErrorContains(t, err, "a second rule for")
	_, err = custom.Marshal("mine", codis, []proxycompat.RuleChange{ok("GET", "\xff")})
	require.ErrorContains(t, err, "custom: not written")

	for _, base := range []*proxycompat.Profile{codis.AllowTagged(), extended(t, codis, proxycompat.Changes{Name: "mine"})} {
		_, err = custom.Marshal("other", base, nil)
		require.ErrorContains(t, err, fmt.Sprintf("custom: a file cannot name the base %s; give nil", base.Name()))
	}
}
