package proxycompat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEmbeddedFilesAreDecodedStrictly(t *testing.T) {
	const file = `{"name": "x", "commands": [{"command": ["*"], "verdict": "ok", "why": "w", "source": "s"%s}]%s}`
	_, err := decodeEmbedded(fmt.Appendf(nil, file, "", ""))
	require.NoError(t, err)
	for want, add := range map[string][2]string{
		`unknown field "sauce"`: {`, "sauce": ""`, ""},
		`unknown field "titel"`: {"", `, "titel": ""`},
		"rule 1: bad route":     {`, "route": "x"`, ""},
		"bad idle time":         {"", `, "idle": "long"`},
	} {
		_, err := decodeEmbedded(fmt.Appendf(nil, file, add[0], add[1]))
		require.ErrorContains(t, err, want)
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
