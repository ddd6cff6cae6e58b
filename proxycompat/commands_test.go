package proxycompat_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

// Every command of Redis has a verdict with every profile, with a reason and a source.
func TestEveryCommandHasAVerdict(t *testing.T) {
	commands := proxycompat.Commands()
	require.Greater(t, len(commands), 500)
	for _, name := range proxycompat.Names() {
		for _, over := range []string{"", "@3.2", "@7.0"} {
			p := lookup(t, strings.ToUpper(name)+over)
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
		"GET k1", "get", "MSET k1 1 k2 2 k3 3", "MSET k1 1 k2", "EVAL s 2 k1 k2 a", "EVAL s 0 a", "EVAL s -1 a",
		"EVAL s 99999999999999999999 a", "EVAL s 9223372036854775807 k1", "ZUNIONSTORE k1 2 k2 k3 WEIGHTS 1 2",
		"XREAD COUNT 2 BLOCK 0 streams k1 k2 0 1", "XREAD STREAMS", "XREADGROUP GROUP streams c1 STREAMS k1 >",
		"XREADGROUP GROUP g streams NOACK STREAMS k1 k2 > >", "MIGRATE h p  0 100 AUTH keys KEYS k1 k2",
		"MIGRATE h p  0 100 AUTH2 keys auth KEYS k1", "SORT k1 BY k* GET k* STORE k2",
		"GEORADIUSBYMEMBER k1 store 5 m STORE k2", "MIGRATE h p k1 0 100", "MIGRATE h p  0 100 COPY KEYS k1 k2",
		"SORT k1 BY nosort GET # GET x", "SORT k1 STORE k2", "MSETEX 2 k1 a k2 b EX 10", "MSETEX 1000000 k1 a",
		"OBJECT ENCODING k1", "MEMORY DOCTOR", "BITOP AND k1 k2 k3", "BLPOP k1 k2 0", "LMPOP 2 k1 k2 LEFT",
		"SSUBSCRIBE", "PING", "geosearchstore k1 k2 FROMMEMBER m", "TS.MADD k1 1 2 k2 3 4",
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

// checks asserts, for each profile, which commands it permits.
func checks(t *testing.T, permits map[string]map[string]bool) {
	t.Helper()
	for profile, commands := range permits {
		p := lookup(t, profile)
		assert.Equal(t, profile, p.Name())
		for command, passes := range commands {
			err := p.Check(strings.Fields(command)...)
			assert.Equal(t, passes, err == nil, "%s: %s: %v", profile, command, err)
		}
	}
}

// The version of the server behind the proxy affects the rules.
func TestOver(t *testing.T) {
	checks(t, map[string]map[string]bool{
		"codis": {
			"GETDEL k": true, "HIMPORT PREPARE f a": false, "LMOVEM a b LEFT RIGHT": false, "BLMOVEM a b LEFT RIGHT 0": false,
		},
		"codis@3.2":  {"GETDEL k": false, "CAS k a b": true}, // another store may have CAS
		"codis@7.0":  {"GETDEL k": true},
		"redis@3.2":  {"OBJECT ENCODING k": true, "object freq k": false, "HELLO 3": false},
		"redis@7.0":  {"JSON.GET k": false},
		"redis@8.4":  {"JSON.GET k": true, "XCFGSET k": false},
		"redis@8.6":  {"XCFGSET k": true},
		"redis@8.8":  {"LMOVEM a b LEFT RIGHT": false},
		"redis@8.10": {"LMOVEM a b LEFT RIGHT": true, "DELIFEQ k v": false}, // Valkey's
		"redis@9.0":  {"DELIFEQ k v": true},
	})
	p := lookup(t, "codis@3.2")
	err := p.Check("GETDEL", "k")
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

func TestArgumentsNewerThanTheServer(t *testing.T) {
	profiles := map[string]*proxycompat.Profile{"codis": lookup(t, "codis"), "redis": lookup(t, "redis")}
	for version := range strings.FieldsSeq("3.2 4.0 5.0 6.0 6.2 7.0 7.2 7.4 8.0 8.2 8.4 8.6 8.8 8.10") {
		profiles["codis@"+version] = lookup(t, "codis@"+version)
		profiles["redis@"+version] = lookup(t, "redis@"+version)
	}
	for _, c := range []struct {
		command string
		since   string // the first version that accepts it; "": all that have the command
	}{
		{"HSET k f v", ""}, {"HSET k f v g w", "4.0"}, {"hset k f v g w", "4.0"}, {"HMSET k f v g w", ""},
		{"LPOP k", ""}, {"LPOP k 2", "6.2"}, {"RPOP k 2", "6.2"}, {"LPUSHX k a", ""}, {"LPUSHX k a b", "4.0"},
		{"SPOP k 2", ""}, {"SRANDMEMBER k 2", ""},
		{"SET k v NX PX 100", ""}, {"SET k KEEPTTL", ""}, {"SET k v KEEPTTL", "6.0"}, {"SET k v xx keepttl", "6.0"},
		{"SET k v GET", "6.2"}, {"SET k v EXAT 1", "6.2"}, {"SET k v IFEQ w", "8.4"},
		{"ZADD k 1 GT", ""}, {"ZADD k inf GT", ""}, {"ZADD k XX CH 1 m", ""}, {"ZADD k GT 1 m", "6.2"}, {"ZADD k XX LT CH 1 m", "6.2"},
		{"GEOADD k 1 2 NX", ""}, {"GEOADD k NX 1 2 m", "6.2"}, {"GEORADIUS k 1 2 3 m COUNT 1", ""},
		{"GEORADIUS k 1 2 3 m COUNT 1 ANY", "6.2"},
		{"EXPIRE k 1", ""}, {"EXPIRE k 1 NX", "7.0"}, {"PEXPIRE k 1 gt", "7.0"}, {"EXPIREAT k 1 LT", "7.0"},
		{"ZRANGE k 0 -1 WITHSCORES", ""}, {"ZRANGE k 0 -1 REV", "6.2"}, {"ZRANGE k 0 1 BYSCORE LIMIT 0 1", "6.2"},
		{"ZRANK k m WITHSCORE", "7.2"}, {"BITCOUNT k 0 1", ""}, {"BITCOUNT k 0 1 BIT", "7.0"}, {"BITPOS k 1 0 1 BYTE", "7.0"},
		{"SET k v NX EX 10", ""}, {"SET k NX GET", "6.2"}, {"SET k v XX GET", "6.2"}, {"SET k v NX EX 10 GET", "7.0"},
		{"SET k v GET NX", "7.0"},
		{"GEORADIUS k 1 2 3 KM", "7.0"}, {"GEODIST k A B km", ""}, {"GEODIST k A B Km", "7.0"}, {"GEORADIUSBYMEMBER k M 3 km", ""},
		{"RESTORE k 0 x REPLACE", ""}, {"RESTORE k 0 x ABSTTL", "5.0"},
		{"XADD k * NOMKSTREAM v", ""}, {"XADD k NOMKSTREAM * f v", "6.2"}, {"XADD k 1-1 f v LIMIT v", ""},
		{"XADD k MAXLEN ~ 10 LIMIT 5 * f v", "6.2"}, {"XADD k MAXLEN ~ 10 * f v", ""}, {"XTRIM k MAXLEN 10", ""},
		{"XTRIM k MINID 1", "6.2"}, {"XADD k 1-* f v", "7.0"}, {"XADD k 1-1 1-* v", ""}, {"XADD k KEEPREF * f v", "8.2"},
		{"XADD k IDMPAUTO p * f v", "8.6"}, {"XRANGE k - +", ""}, {"XRANGE k - (1-0", "6.2"},
		{"XREVRANGE k (1-0 - COUNT 1", "6.2"}, {"XPENDING k g (1-0 + 10", "6.2"}, {"XREAD STREAMS + $", ""},
		{"XREAD STREAMS k +", "7.4"}, {"XREADGROUP GROUP g c CLAIM 10 STREAMS k >", "8.4"},
		{"XREADGROUP GROUP g c STREAMS CLAIM >", ""},

		{"BLPOP k 1", ""}, {"BLPOP 0.5 1", ""}, {"BLPOP k 0.5", "6.0"}, {"BRPOPLPUSH a b 1.5", "6.0"},
		{"GEOSEARCH k FROMMEMBER M BYBOX 1 2 KM", "7.0"}, {"GEOSEARCH k FROMMEMBER KM BYRADIUS 1 km", ""},
		{"CLIENT LIST TYPE normal", "5.0"}, {"CLIENT LIST ID 1", "6.2"}, {"CLIENT KILL MAXAGE 10", "7.4"},
		{"CONFIG GET a", ""}, {"CONFIG GET a b", "7.0"},
		{"SCAN 0 MATCH TYPE", ""}, {"SCAN 0 MATCH x TYPE string", "6.0"}, {"SCAN 0 TYPE string", "6.0"},
		{"BITOP AND d a b", ""}, {"BITOP ONE d a b", "8.2"},
		{"ZUNION 1 a AGGREGATE COUNT", "8.8"}, {"ZUNION 1 COUNT AGGREGATE SUM", ""},
	} {
		args := strings.Fields(c.command)
		command, _ := proxycompat.CommandOf(args...)
		since, _ := proxycompat.ParseVersion(c.since)
		for name, p := range profiles {
			if strings.HasPrefix(name, "codis") && proxycompat.Codis32().Check(args...) != nil {
				continue // with any server
			}
			server := p.Backend()
			if server != (proxycompat.Version{}) && server.Before(command.Since) {
				continue // this server does not have the command
			}
			err := p.Check(args...)
			byHook := proxycompat.Hook(p).ProcessHook(noop)(t.Context(), redis.NewCmd(t.Context(), anys(args)...))
			a, newer := p.RuleFor(args...).TooNew(args)
			if server == (proxycompat.Version{}) || !server.Before(since) {
				require.NoError(t, err, "%s: %s", name, c.command)
				require.NoError(t, byHook)
				assert.False(t, newer)
				continue
			}
			var refused *proxycompat.RefusedError
			require.ErrorAs(t, err, &refused, "%s: %s", name, c.command)
			require.ErrorIs(t, err, rmw.ErrUnsupported)
			require.EqualError(t, byHook, err.Error())
			assert.True(t, newer)
			assert.NotEmpty(t, refused.Instead, c.command)
			assert.Equal(t, a.Instead, refused.Instead)
			assert.Contains(t, refused.Reason, a.What+" needs Redis "+c.since+" or later, and the server behind is "+server.String())
			assert.NotContains(t, refused.Error(), "  ")
		}
	}
}

func anys(words []string) (out []any) {
	for _, w := range words {
		out = append(out, w)
	}
	return out
}

// A rule of a custom profile is an observation, and so applies to any server version.
func TestArgumentsOfACustomRule(t *testing.T) {
	p := extended(t, proxycompat.Codis32(), proxycompat.Changes{Name: "ours", Backend: "3.2", Rules: []proxycompat.RuleChange{
		{Commands: []string{"HSET"}, Verdict: "ok", Why: "patched server", Source: "us"},
	}})
	require.NoError(t, p.Check("HSET", "k", "f", "v", "g", "w"))
	require.Error(t, p.Check("LPOP", "k", "2"))
}
