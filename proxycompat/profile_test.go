package proxycompat_test

import (
	"math/big"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

func TestLookupErrors(t *testing.T) {
	_, err := proxycompat.Lookup("haproxy")
	require.ErrorContains(t, err, `proxycompat: no profile named "haproxy", known are `)
	require.ErrorContains(t, err, "codis, ")
	_, err = proxycompat.Lookup("codis@new")
	require.EqualError(t, err, `proxycompat: bad version "new": want one such as 6.2`)
}

func TestVerdicts(t *testing.T) {
	codis, twem := proxycompat.Codis32(), proxycompat.Twemproxy05()
	for command, want := range map[string][2]proxycompat.Verdict{
		"watch":   {proxycompat.Refused, proxycompat.Closes},
		"HELLO":   {proxycompat.HarmsOthers, proxycompat.Closes},
		"BLMOVE":  {proxycompat.HarmsOthers, proxycompat.Closes},
		"XREAD":   {proxycompat.Misrouted, proxycompat.Closes},
		"UNLINK":  {proxycompat.OneKey, proxycompat.Split},
		"MSET":    {proxycompat.Split, proxycompat.Split},
		"GETDEL":  {proxycompat.Backend, proxycompat.Backend},
		"XADD":    {proxycompat.Backend, proxycompat.Closes},
		"SET":     {proxycompat.OK, proxycompat.OK},
		"RESTORE": {proxycompat.Refused, proxycompat.OK},
		"POST":    {proxycompat.HarmsOthers, proxycompat.Closes},
		"CAS":     {proxycompat.Unknown, proxycompat.Closes},
	} {
		assert.Equal(t, want[0], codis.Rule(command).Verdict, "codis %s", command)
		assert.Equal(t, want[1], twem.Rule(command).Verdict, "twemproxy %s", command)
		assert.Equal(t, proxycompat.OK, proxycompat.Redis().Rule(command).Verdict)
	}
	assert.Equal(t, "CAS", codis.Rule("cas").Command)
	assert.Equal(t, "ERR handle request, command 'WATCH' is not allowed", codis.RefusalText("watch"))
	assert.Empty(t, twem.RefusalText("watch"))
	for version, want := range map[string][3]string{
		"3.2": {"ERR unknown command 'getDel'", "ERR Unknown PUBSUB subcommand or wrong number of arguments for 'Help'",
			"ERR Unknown subcommand or wrong number of arguments."},
		"6.0": {"ERR unknown command `getDel`, with args beginning with: `a`, `b`, ",
			"ERR Unknown subcommand or wrong number of arguments for 'Help'. Try PUBSUB HELP.",
			"ERR Unknown subcommand or wrong number of arguments for 'docs'. Try COMMAND HELP."},
	} {
		p, err := codis.Over(version)
		require.NoError(t, err)
		assert.Equal(t, want[0], p.RefusalText("getDel", "a", "b"))
		assert.Equal(t, want[1], p.RefusalText("pubsub", "Help"))
		assert.Equal(t, want[2], p.RefusalText("command", "docs", "x"))
	}
	seven, err := codis.Over("7.0")
	require.NoError(t, err)
	assert.Equal(t, "ERR unknown command 'delex', with args beginning with: 'a' ", seven.RefusalText("delex", "a"))
	assert.Equal(t, "ERR unknown command 'DELEX', with args beginning with: ", seven.RefusalText("DELEX"))
}

// Codis 3.2.2 looks up only names of letters in its command table, and forwards the others: the 12
// administrative commands with a hyphen reach a server.
func TestCodisForwardsNamesWithAHyphen(t *testing.T) {
	codis, forwarded := proxycompat.Codis32(), 0
	for _, r := range codis.Rules() {
		if !strings.Contains(r.Command, "-") || strings.Contains(r.Command, " ") {
			continue
		}
		forwarded++
		assert.Equal(t, proxycompat.HarmsOthers, r.Verdict, r.Command)
		assert.Equal(t, 1, r.Route([]string{r.Command, "k"}), r.Command)
		require.ErrorIs(t, codis.Check(r.Command, "k"), rmw.ErrUnsupported, "users are still kept from it")
	}
	assert.Equal(t, 12, forwarded)
}

// The commands that replicas answer were determined with stopped replicas.
func TestCodisReadsFromReplicas(t *testing.T) {
	const measured = "GET STRLEN EXISTS TTL PTTL TYPE GETBIT GETRANGE SUBSTR BITCOUNT BITPOS DUMP MGET HGET HMGET HGETALL " +
		"HEXISTS HKEYS HVALS HLEN HSTRLEN LRANGE LLEN LINDEX SMEMBERS SCARD SISMEMBER SRANDMEMBER SINTER SUNION SDIFF ZRANGE " +
		"ZCARD ZSCORE ZRANK ZREVRANK ZCOUNT ZRANGEBYSCORE ZREVRANGE ZREVRANGEBYSCORE ZRANGEBYLEX ZREVRANGEBYLEX ZLEXCOUNT " +
		"GEOPOS GEOHASH GEODIST PFCOUNT"
	var replica []string
	for _, r := range proxycompat.Codis32().Rules() {
		if r.Replica() {
			replica = append(replica, r.Command)
			assert.Contains(t, r.Why, "may be stale", r.Command)
		}
	}
	assert.ElementsMatch(t, strings.Fields(measured), replica)
}

func TestCheck(t *testing.T) {
	codis, twem := proxycompat.Codis32(), proxycompat.Twemproxy05()
	for command, want := range map[string]string{ // "": both permit it; c and t: that profile refuses
		"":                                 "",
		"GET k":                            "",
		"get":                              "t",
		"SET k v NX PX 100":                "",
		"EVAL s 1 k a b":                   "",
		"EVAL s 0":                         "ct",
		"EVAL s 0 a":                       "ct",
		"EVAL s 2 k":                       "ct",
		"EVAL s x k":                       "t",
		"MGET a b":                         "",
		"MSET a 1 b":                       "ct",
		"UNLINK a b":                       "c",
		"SINTER a b":                       "ct",
		"XREAD COUNT 1 STREAMS a b 0 0":    "ct",
		"MSETEX 2 a 1 b 2":                 "ct",
		"SORT a LIMIT 0 1":                 "",
		"GEORADIUSBYMEMBER g store 5 km":   "",
		"GEORADIUS g 1 1 5 km STOREDIST d": "ct",
		"SINTER a a":                       "",
		"EVAL s 2 k k":                     "",
		"JSON.GET k":                       "t",
		"JSON.MGET k l $":                  "ct",
		"SORT a BY w_*":                    "ct",
		"SORT a store b":                   "ct",
		"WATCH k":                          "ct",
		"SCRIPT EXISTS x":                  "ct",
		"HELLO 3":                          "ct",
		"AUTH pw":                          "",
		"AUTH user pw":                     "ct",
		"SELECT 1":                         "t",
		"PING x":                           "ct",
		"CAS k a b":                        "t",
		"QUIT":                             "",
		strings.Repeat("X", 100) + " k":    "t",
	} {
		args := strings.Fields(command)
		for p, mark := range map[*proxycompat.Profile]string{codis: "c", twem: "t"} {
			err := p.Check(args...)
			if !strings.Contains(want, mark) {
				assert.NoError(t, err, "%s: %s", p.Name(), command)
				continue
			}
			var refused *proxycompat.RefusedError
			require.ErrorAs(t, err, &refused, "%s: %s", p.Name(), command)
			require.ErrorIs(t, err, rmw.ErrUnsupported)
			assert.False(t, rmw.Retryable(err))
			assert.Equal(t, strings.ToUpper(args[0]), refused.Command)
			assert.Equal(t, p.Name(), refused.Profile)
			assert.NotEmpty(t, refused.Source)
			assert.NotEmpty(t, refused.Reason)
		}
		require.NoError(t, proxycompat.Redis().Check(args...))
	}
}

func TestRefusedErrorShowsNoData(t *testing.T) {
	err := proxycompat.Codis32().Check("EVAL", "secret-script", "2", "secret-key", "other", "secret-value")
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "secret")
	assert.Contains(t, err.Error(), "EVAL not sent: codis: 2 keys")
	err = proxycompat.Twemproxy05().Check("bad\r\n" + strings.Repeat("x", 1000))
	assert.NotContains(t, err.Error(), "\n")
	assert.Less(t, len(err.Error()), 400)
}

func TestAllowTagged(t *testing.T) {
	strict := proxycompat.Codis32()
	tagged := strict.AllowTagged()
	require.NoError(t, tagged.Check("EVAL", "s", "2", "{a}1", "{a}2"))
	require.NoError(t, tagged.Check("SINTER", "{a}1", "{a}2"))
	require.Error(t, tagged.Check("EVAL", "s", "2", "{a}1", "{b}2"))
	require.Error(t, strict.Check("EVAL", "s", "2", "{a}1", "{a}2"), "the original is unchanged")
	require.NoError(t, tagged.Check("SORT", "{a}k", "BY", "{a}w_*", "STORE", "{a}d"))
	require.Error(t, tagged.Check("SORT", "{a}k", "BY", "{a}w_*", "STORE", "other"), "the last option counts as the first")
	many := []string{"SORT", "{a}k"}
	for range 12 {
		many = append(many, "GET", "{a}*")
	}
	require.Error(t, tagged.Check(append(many, "STORE", "other")...), "more keys than are looked at")
	require.Error(t, proxycompat.Twemproxy05().AllowTagged().Check("SINTER", "{a}1", "{a}2"))
}

// CheckCmd checks the arguments that go-redis sends.
func TestCheckCmdReadsArgumentsAsTheyAreSent(t *testing.T) {
	two, key := 2, "k"
	codis := proxycompat.Codis32()
	for _, args := range [][]any{
		{"eval", "s", &two, "a", "b"}, {"eval", "s", time.Duration(2), "a", "b"}, {"eval", []byte("s"), int8(2), "a", "b"},
		{"eval", "s", float64(2), "a", "b"}, {"eval", "s", uint64(2), "a", "b"}, {"watch", &key}, {"eval", "s", false, "a"},
	} {
		require.Error(t, codis.CheckCmd(redis.NewCmd(t.Context(), args...)), "%v", args)
	}
	var none *string
	for _, args := range [][]any{
		{"eval", "s", true, &key}, {"set", &key, nil}, {"set", none, time.Now()}, {"get", net.IPv4(1, 2, 3, 4)},
		{"set", "k", big.NewInt(1)},
		{"mget", marshaler("{x}a"), marshaler("{x}b")},
	} {
		require.NoError(t, codis.AllowTagged().CheckCmd(redis.NewCmd(t.Context(), args...)), "%v", args)
	}
	cluster, err := proxycompat.Lookup("cluster")
	require.NoError(t, err)
	require.NoError(t, cluster.CheckCmd(redis.NewCmd(t.Context(), "mget", marshaler("{x}a"), marshaler("{x}b"))))
}

type marshaler string

func (m marshaler) MarshalBinary() ([]byte, error) { return []byte(m), nil }

func TestProxiesWithSpecialRules(t *testing.T) {
	for _, c := range []struct {
		profile, command string
		passes           bool
	}{
		{"predixy", "SUBSCRIBE a", true},
		{"predixy", "SUBSCRIBE a b", false},
		{"predixy", "ZRANGE k 0 -1 WITHSCORES", true},
		{"predixy", "ZRANGE k 0 -1 BYSCORE REV LIMIT 0 10", false},
		{"predixy", "SCRIPT LOAD s", true},
		{"alibaba", "EVAL s 0", false},
		{"alibaba", "EVAL s -1", false},
		{"alibaba", "EVAL s 2 {a}1 {a}2", true},
		{"cluster", "XREADGROUP GROUP streams c STREAMS s >", true},
		{"cluster", "XREADGROUP GROUP g c STREAMS s t > >", false},
		{"envoy@3.2", "HELLO 2", true}, // the proxy answers it
		{"pika", "DBSLAVEOF x", false},
		{"pika", "HELLO 2", false},
	} {
		checks(t, c.profile, c.command, c.passes)
	}
	for profile, name := range map[string]string{"predixy": "SCRIPT LOAD", "camellia": "CONFIG GET"} {
		p, err := proxycompat.Lookup(profile)
		require.NoError(t, err)
		require.Error(t, p.Check(name, "x"), "a single word, for a server")
	}
}

// docs/guarantees.md names each profile that was made from sources alone as not proved, and no other.
func TestGuaranteesNameUnobservedProfiles(t *testing.T) {
	doc, err := os.ReadFile("../docs/guarantees.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(doc), "Not proved yet: ")
	require.True(t, found)
	sentence, _, _ := strings.Cut(strings.ToLower(after), ".")
	named := strings.Fields(strings.ReplaceAll(sentence, ",", " "))
	for _, name := range proxycompat.Names() {
		p, err := proxycompat.Lookup(name)
		require.NoError(t, err)
		about := strings.ReplaceAll(p.About(), "not observed", "")
		unobserved := strings.Contains(about, "from its ") && !strings.Contains(about, "observed")
		assert.Equal(t, unobserved, slices.Contains(named, strings.TrimSuffix(name, "-old")), name)
	}
}
