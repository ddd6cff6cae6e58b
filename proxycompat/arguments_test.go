package proxycompat_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

func TestArgumentsNewerThanTheServer(t *testing.T) {
	for _, c := range []struct {
		command string
		since   string // the first version that accepts it; "": 3.2
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
	} {
		for _, base := range []string{"codis", "redis"} {
			args := strings.Fields(c.command)
			if base == "codis" && proxycompat.Codis32().Check(args...) != nil {
				continue // with any server
			}
			for _, version := range []string{"", "3.2", "4.0", "5.0", "6.0", "6.2", "7.0", "7.2", "8.4"} {
				name := base
				if version != "" {
					name += "@" + version
				}
				p, err := proxycompat.Lookup(name)
				require.NoError(t, err)
				server, _ := proxycompat.ParseVersion(version)
				since, _ := proxycompat.ParseVersion(c.since)
				err = p.Check(args...)
				byHook := proxycompat.Hook(p).ProcessHook(noop)(t.Context(), redis.NewCmd(t.Context(), anys(args)...))
				a, newer := p.RuleFor(args...).TooNew(args)
				if version == "" || !server.Before(since) {
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
				assert.Contains(t, refused.Reason, a.What+" needs Redis "+c.since+" or later, and the server behind is "+version)
				assert.NotContains(t, refused.Error(), "  ")
			}
		}
	}
}

func anys(words []string) (out []any) {
	for _, w := range words {
		out = append(out, w)
	}
	return out
}

func TestStreamArgumentsNewerThanTheServer(t *testing.T) {
	for version, commands := range map[string]map[string]bool{
		"redis@5.0": {
			"XADD k * NOMKSTREAM v": true, "XADD k NOMKSTREAM * f v": false, "XADD k 1-1 f v LIMIT v": true,
			"XADD k MAXLEN ~ 10 LIMIT 5 * f v": false, "XADD k MAXLEN ~ 10 * f v": true,
			"XTRIM k MAXLEN 10": true, "XTRIM k MINID 1": false,
		},
		"redis@5.9": {
			"BLPOP k 1": true, "BLPOP 0.5 1": true, "BLPOP k 0.5": false, "BRPOPLPUSH a b 1.5": false,
			"XRANGE k - +": true, "XRANGE k - (1-0": false, "XREVRANGE k (1-0 - COUNT 1": false, "XPENDING k g (1-0 + 10": false,
			"XADD k 1-* f v": false, "XADD k 1-1 1-* v": true,
		},
		"redis@6.9": {"GEOSEARCH k FROMMEMBER M BYBOX 1 2 KM": false, "GEOSEARCH k FROMMEMBER KM BYRADIUS 1 km": true},
		"redis@7.2": {
			"XREAD STREAMS + $": true, "XREAD STREAMS k +": false, "CLIENT KILL MAXAGE 10": false,
			"XREADGROUP GROUP g c CLAIM 10 STREAMS k >": false, "XREADGROUP GROUP g c STREAMS CLAIM >": true,
		},
		"redis@4.0":  {"SCAN 0 MATCH TYPE": true, "SCAN 0 MATCH x TYPE string": false, "SCAN 0 TYPE string": false},
		"redis@8.0":  {"BITOP AND d a b": true, "BITOP ONE d a b": false, "XADD k KEEPREF * f v": false},
		"redis@8.4":  {"XADD k IDMPAUTO p * f v": false, "ZUNION 1 a AGGREGATE COUNT": false, "ZUNION 1 COUNT AGGREGATE SUM": true},
		"redis@6.0":  {"CLIENT LIST TYPE normal": true, "CLIENT LIST ID 1": false, "CONFIG GET a": true, "CONFIG GET a b": false},
		"redis@8.10": {"XADD k IDMPAUTO p * f v": true, "BITOP ONE d a b": true},
	} {
		for command, passes := range commands {
			checks(t, version, command, passes)
		}
	}
}

func TestNewerArgumentIsCaughtAtTheSocket(t *testing.T) {
	p, err := proxycompat.Lookup("codis@3.2")
	require.NoError(t, err)
	conn, server := piped(t, proxycompat.Hook(p).DialHook)
	go func() { _, _ = server.Read(make([]byte, 1)) }()
	_, err = conn.Write(resp.AppendCommand(nil, "HSET", "k", "f", "v", "g", "w"))
	require.ErrorIs(t, err, rmw.ErrUnsupported)
	require.EqualError(t, p.Check("HSET", "secret", "f", "secret", "g", "secret"),
		"proxycompat: HSET not sent: codis@3.2: more than one field needs Redis 4.0 or later, and the server behind is 3.2; "+
			"instead: HMSET, or one HSET for each field (Redis' command list)")
}

// A rule of a custom profile is an observation, and so applies to any server version.
func TestArgumentsOfACustomRule(t *testing.T) {
	p, err := proxycompat.Codis32().Extend(proxycompat.Changes{Name: "ours", Backend: "3.2", Rules: []proxycompat.RuleChange{
		{Commands: []string{"HSET"}, Verdict: "ok", Why: "patched server", Source: "us"},
	}})
	require.NoError(t, err)
	require.NoError(t, p.Check("HSET", "k", "f", "v", "g", "w"))
	require.Error(t, p.Check("LPOP", "k", "2"))
}
