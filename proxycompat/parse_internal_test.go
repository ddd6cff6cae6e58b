package proxycompat

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseErrors(t *testing.T) {
	const ok = "@name x\n*\tok\t-\t-\t-\twhy\t-\tsource\n"
	p, err := parse("x.tsv", "# comment\n\n"+ok+"EVAL,EVALSHA\tonekey\t3+\t3\t-\twhy\tinstead\tsource\r\n")
	require.NoError(t, err)
	assert.Equal(t, "instead", p.Rule("evalsha").Instead)
	assert.Equal(t, 3, p.Rule("eval").Route([]string{"EVAL", "s", "1", "k"}))
	assert.Equal(t, -1, p.Rule("eval").Route([]string{"EVAL"}))
	for text, want := range map[string]string{
		"":                                   "x.tsv: no @name",
		"@name x\n":                          "no row for *",
		"@nope y\n":                          "x.tsv:1: unknown directive @nope",
		"@hash md5\n":                        "bad hash rule",
		"@proxy some\n":                      "bad @proxy",
		"@idle long\n":                       "invalid duration",
		"@keys all\n":                        "bad @keys",
		"@clients many\n":                    "invalid syntax",
		"GET\tok\n":                          "x.tsv:1: want 8 fields separated by tabs, got 2",
		ok + "GET\tfine\t-\t-\t-\tw\t-\ts":   `x.tsv:3: proxycompat: unknown verdict "fine"`,
		ok + "get\tok\t-\t-\t-\tw\t-\ts":     "want one command",
		ok + "A B C\tok\t-\t-\t-\tw\t-\ts":   "want one command",
		ok + "GET,\tok\t-\t-\t-\tw\t-\ts":    "want one command",
		ok + "GET\tok\tx\t-\t-\tw\t-\ts":     "bad argument count",
		ok + "GET\tok\t-\tx\t-\tw\t-\ts":     "bad route",
		ok + "GET\tok\t-\t-\t-\t-\t-\ts":     "no reason",
		ok + ok:                              "a second row for *",
		ok + "GET,GET\tok\t-\t-\t-\tw\t-\ts": "a second row for GET",
		ok + strings.Repeat("G\tok\t-\t-\t-\tw\t-\ts\n", 2): "a second row for G",
	} {
		_, err := parse("x.tsv", text)
		require.ErrorContains(t, err, want, "%q", text)
	}
}

func TestParseCommandsErrors(t *testing.T) {
	for text, want := range map[string]string{
		"GET\t1.0\n":                                   "commands.tsv:1: want 6 fields",
		"GET\t1.0\t1\tr\tstring\tx\n":                  `bad arity "x"`,
		"GET\tnew\t1\tr\tstring\t2\n":                  `commands.tsv:1: proxycompat: bad version "new"`,
		"#\nGET\t1.0\t0\tr\tstring\t2\n":               `commands.tsv:2: bad keys "0" in "0"`,
		"GET\t1.0\tnum1:2:3\tr\tstring\t2\n":           "bad keys",
		"GET\t1.0\t1:2:3:4\tr\tstring\t2\n":            "bad keys",
		"GET\t1.0\tnumx\tr\tstring\t2\n":               "bad keys",
		"GET\t1.0\t1\tr\ta\t2\nGET\t1.0\t1\tr\ta\t2\n": "commands.tsv:2: a second row for GET",
	} {
		_, err := parseCommands(text)
		require.ErrorContains(t, err, want, "%q", text)
	}
}

// No profile contradicts itself.
func TestVerdictsAreConsistent(t *testing.T) {
	for _, name := range Names() {
		p := mustEmbedded(name)
		assert.Equal(t, name, p.Name())
		assert.NotEmpty(t, p.Title(), name)
		assert.NotEmpty(t, p.About(), name)
		for _, r := range p.Rules() {
			what, c := name+" "+r.Command, commandTable()[r.Command]
			switch r.Verdict {
			case OneKey, SameSlot, Split:
				several := c == nil || r.keys.several() || strings.Contains(c.flags, "p") || strings.Contains(c.flags, "t")
				assert.True(t, several, "%s: %v, but it has one key at most", what, r.Verdict)
			case Unknown:
				assert.False(t, r.keys.several(), "%s: forwarded by its first argument, but it has several keys", what)
			case OK, Backend:
				anywhere := p.hash == hashNone || r.route < byKey || c != nil && strings.Contains(c.flags, "p")
				assert.True(t, anywhere || !r.keys.several(), "%s: %v, but what of its other keys?", what, r.Verdict)
			case Closes:
				assert.Empty(t, p.RefusalText(r.Command), what)
			case Refused:
				assert.NotEmpty(t, p.RefusalText(r.Command), what)
			}
		}
	}
}

// A row about an unknown command is a spelling mistake.
func TestEveryRowHasAnEffect(t *testing.T) {
	foreign := map[string]bool{}
	for name := range strings.FieldsSeq(foreignCommands) {
		foreign[name] = true
	}
	for _, name := range Names() {
		for command := range mustEmbedded(name).rows {
			known := commandTable()[command] != nil || foreign[command] || strings.HasPrefix(command, "SLOTS")
			assert.True(t, known, "%s: nobody has a command %s", name, command)
		}
	}
}

// foreignCommands are those of proxies and other stores only.
const foreignCommands = `
	HOST: POST STRALGO SENTINEL CAS CAD DELVX
	CACHE CLEARCACHE CLEARREPLICATIONID COMPACT COMPACTRANGE DBSLAVEOF DELBACKUP DISABLEWAL DISKRECOVERY
	HSCANX PADDING PCONFIG PKHRSCANRANGE PKHSCANRANGE PKPATTERNMATCHDEL PKRSCANRANGE PKSCANRANGE PKSETEXAT
	PTYPE PURGELOGSTO SCANDB SCANX XCONFIG XMONITOR`
