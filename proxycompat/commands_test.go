package proxycompat_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
)

// Every command of Redis has a verdict with every profile, with a reason and a source.
func TestEveryCommandHasAVerdict(t *testing.T) {
	commands := proxycompat.Commands()
	require.Greater(t, len(commands), 500)
	for _, name := range proxycompat.Names() {
		for _, over := range []string{"", "@3.2", "@7.0"} {
			p, err := proxycompat.Lookup(strings.ToUpper(name) + over)
			require.NoError(t, err)
			assert.Equal(t, name+over, p.Name())
			rules := map[string]bool{}
			all := p.Rules()
			assert.True(t, slices.IsSortedFunc(all, func(a, b proxycompat.Rule) int { return strings.Compare(a.Command, b.Command) }))
			for _, r := range all {
				rules[r.Command] = true
			}
			for _, c := range commands {
				r := p.Rule(c.Name)
				assert.NotEmpty(t, r.Why, "%s %s", p.Name(), c.Name)
				assert.NotEmpty(t, r.Source, "%s %s", p.Name(), c.Name)
				if !c.Subcommand() {
					assert.True(t, rules[c.Name], "%s has no rule for %s", p.Name(), c.Name)
				}
			}
		}
	}
}

func TestKeysOf(t *testing.T) {
	for _, command := range []string{ // the keys are k and a digit; one for each form of the column keys
		"GET k1",
		"get",
		"MSET k1 1 k2 2 k3 3",
		"MSET k1 1 k2",
		"EVAL s 2 k1 k2 a",
		"EVAL s 0 a",
		"EVAL s -1 a",
		"EVAL s 99999999999999999999 a",
		"EVAL s 9223372036854775807 k1",
		"ZUNIONSTORE k1 2 k2 k3 WEIGHTS 1 2",
		"XREAD COUNT 2 BLOCK 0 streams k1 k2 0 1",
		"XREAD STREAMS",
		"XREADGROUP GROUP streams c1 STREAMS k1 >",
		"XREADGROUP GROUP g streams NOACK STREAMS k1 k2 > >",
		"MIGRATE h p  0 100 AUTH keys KEYS k1 k2",
		"MIGRATE h p  0 100 AUTH2 keys auth KEYS k1",
		"SORT k1 BY k* GET k* STORE k2",
		"GEORADIUSBYMEMBER k1 store 5 m STORE k2",
		"MIGRATE h p k1 0 100",
		"MIGRATE h p  0 100 COPY KEYS k1 k2",
		"SORT k1 BY nosort GET # GET x",
		"SORT k1 STORE k2",
		"MSETEX 2 k1 a k2 b EX 10",
		"MSETEX 1000000 k1 a",
		"OBJECT ENCODING k1",
		"MEMORY DOCTOR",
		"BITOP AND k1 k2 k3",
		"BLPOP k1 k2 0",
		"LMPOP 2 k1 k2 LEFT",
		"SSUBSCRIBE",
		"PING",
		"geosearchstore k1 k2 FROMMEMBER m",
		"TS.MADD k1 1 2 k2 3 4",
	} {
		args := strings.Split(command, " ")
		keys, known := proxycompat.KeysOf(args...)
		assert.True(t, known, command)
		var want []string
		for _, a := range args {
			if strings.HasPrefix(a, "k") && len(a) == 2 {
				want = append(want, a)
			}
		}
		var got []string
		for _, i := range keys {
			got = append(got, args[i])
		}
		assert.Equal(t, want, got, command)
	}
	for _, none := range [][]string{{}, {"NOSUCH", "k"}, {""}} {
		keys, known := proxycompat.KeysOf(none...)
		assert.False(t, known)
		assert.Empty(t, keys)
	}
}

// checks asserts that the profile permits a command, or refuses it.
func checks(t *testing.T, profile, command string, passes bool) {
	t.Helper()
	p, err := proxycompat.Lookup(profile)
	require.NoError(t, err)
	assert.Equal(t, profile, p.Name())
	err = p.Check(strings.Fields(command)...)
	assert.Equal(t, passes, err == nil, "%s: %s: %v", profile, command, err)
}

// The version of the server behind the proxy affects the rules.
func TestOver(t *testing.T) {
	for _, c := range []struct {
		profile, command string
		passes           bool
	}{
		{"codis", "GETDEL k", true},
		{"codis@3.2", "GETDEL k", false},
		{"codis@7.0", "GETDEL k", true},
		{"codis@3.2", "CAS k a b", true}, // another store may have it
		{"redis@8.4", "JSON.GET k", true},
		{"redis@7.0", "JSON.GET k", false},
		{"redis@3.2", "OBJECT ENCODING k", true},
		{"redis@3.2", "object freq k", false},
		{"redis@3.2", "HELLO 3", false},
		{"redis@8.4", "XCFGSET k", false},
		{"redis@8.6", "XCFGSET k", true},
		{"redis@8.8", "LMOVEM a b LEFT RIGHT", false},
		{"redis@8.10", "LMOVEM a b LEFT RIGHT", true},
		{"redis@8.10", "DELIFEQ k v", false}, // Valkey's
		{"redis@9.0", "DELIFEQ k v", true},
		{"codis", "HIMPORT PREPARE f a", false},
		{"codis", "LMOVEM a b LEFT RIGHT", false},
		{"codis", "BLMOVEM a b LEFT RIGHT 0", false},
	} {
		checks(t, c.profile, c.command, c.passes)
	}
	p, err := proxycompat.Lookup("codis@3.2")
	require.NoError(t, err)
	err = p.Check("GETDEL", "k")
	require.EqualError(t, err, "proxycompat: GETDEL not sent: codis@3.2: the server behind has it since Redis 6.2, and is 3.2 (Redis' command list)")
	assert.Equal(t, "ERR unknown command 'GETDEL'", p.RefusalText("GETDEL"), "named as it is sent")
	assert.Equal(t, proxycompat.Refused, p.Rule("HELLO").Verdict, "a server that does not know it is not harmed by it")
	again, err := p.Over("6.2.14")
	require.NoError(t, err)
	assert.Equal(t, "codis@6.2", again.Name())
	require.NoError(t, again.Check("GETDEL", "k"))
}

// go-redis v9.23.0, which this module requires, sends these commands of Redis 8.6 to 8.10.
func TestCommandsOfNewerClients(t *testing.T) {
	for name := range strings.FieldsSeq("ARCOUNT ARDEL ARDELRANGE ARGET ARGETRANGE ARGREP ARINFO ARINSERT ARLASTITEMS ARLEN ARMGET " +
		"ARMSET ARNEXT AROP ARRING ARSCAN ARSEEK ARSET BLMOVEM FT.ALIASLIST HIMPORT HOTKEYS INCREX LMOVEM SDIFFCARD SUNIONCARD " +
		"TS.NRANGE TS.NREVRANGE TS.QUERYLABELS TS.READ XCFGSET XNACK") {
		c, known := proxycompat.CommandOf(name)
		assert.True(t, known, name)
		assert.False(t, c.Since.Before(proxycompat.Version{Major: 8, Minor: 6}), name)
	}
}

func TestVersion(t *testing.T) {
	for _, bad := range []string{"", "x", "3", "3.x", "-1.0", "0.9", "3."} {
		_, err := proxycompat.ParseVersion(bad)
		require.Error(t, err, bad)
	}
	v, err := proxycompat.ParseVersion("7.0.15")
	require.NoError(t, err)
	assert.Equal(t, "7.0", v.String())
	assert.True(t, v.Before(proxycompat.Version{Major: 7, Minor: 2}))
	assert.True(t, v.Before(proxycompat.Version{Major: 8}))
	assert.False(t, v.Before(v))
}
