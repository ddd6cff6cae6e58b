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
		p := lookup(t, "codis@"+version)
		assert.Equal(t, want[0], p.RefusalText("getDel", "a", "b"))
		assert.Equal(t, want[1], p.RefusalText("pubsub", "Help"))
		assert.Equal(t, want[2], p.RefusalText("command", "docs", "x"))
	}
	seven := lookup(t, "codis@7.0")
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
	for refusedBy, commands := range map[string][]string{
		"": {
			"", "GET k", "SET k v NX PX 100", "EVAL s 1 k a b", "EVAL s 2 k k", "MGET a b", "SINTER a a", "SORT a LIMIT 0 1",
			"GEORADIUSBYMEMBER g store 5 km", "AUTH pw", "QUIT",
		},
		"codis":     {"UNLINK a b"},
		"twemproxy": {"get", "EVAL s x k", "JSON.GET k", "SELECT 1", "CAS k a b", strings.Repeat("X", 100) + " k"},
		"codis, twemproxy": {
			"EVAL s 0", "EVAL s 0 a", "EVAL s 2 k", "MSET a 1 b", "SINTER a b", "XREAD COUNT 1 STREAMS a b 0 0", "MSETEX 2 a 1 b 2",
			"GEORADIUS g 1 1 5 km STOREDIST d", "JSON.MGET k l $", "SORT a BY w_*", "SORT a store b",
			"WATCH k", "SCRIPT EXISTS x", "HELLO 3", "AUTH user pw", "PING x",
		},
	} {
		for _, command := range commands {
			args := strings.Fields(command)
			for _, p := range []*proxycompat.Profile{proxycompat.Codis32(), proxycompat.Twemproxy05()} {
				err := p.Check(args...)
				if !strings.Contains(refusedBy, p.Name()) {
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
}

func TestRefusedErrorShowsNoData(t *testing.T) {
	err := proxycompat.Codis32().Check("EVAL", "secret-script", "2", "secret-key", "other", "secret-value")
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "secret")
	assert.Contains(t, err.Error(), "EVAL not sent: codis: 2 keys")
	err = proxycompat.Twemproxy05().Check("bad\r\n" + strings.Repeat("x", 1000))
	assert.NotContains(t, err.Error(), "\n")
	assert.Less(t, len(err.Error()), 400)
	require.EqualError(t, lookup(t, "codis@3.2").Check("HSET", "secret", "f", "secret", "g", "secret"),
		"proxycompat: HSET not sent: codis@3.2: more than one field needs Redis 4.0 or later, and the server behind is 3.2; "+
			"instead: HMSET, or one HSET for each field (Redis' command list)")
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
	require.NoError(t, lookup(t, "cluster").CheckCmd(redis.NewCmd(t.Context(), "mget", marshaler("{x}a"), marshaler("{x}b"))))
}

type marshaler string

func (m marshaler) MarshalBinary() ([]byte, error) { return []byte(m), nil }

func TestProxiesWithSpecialRules(t *testing.T) {
	checks(t, map[string]map[string]bool{
		"predixy": {
			"SUBSCRIBE a": true, "SUBSCRIBE a b": false, "SCRIPT LOAD s": true,
			"ZRANGE k 0 -1 WITHSCORES": true, "ZRANGE k 0 -1 BYSCORE REV LIMIT 0 10": false,
		},
		"alibaba":   {"EVAL s 0": false, "EVAL s -1": false, "EVAL s 2 {a}1 {a}2": true},
		"cluster":   {"XREADGROUP GROUP streams c STREAMS s >": true, "XREADGROUP GROUP g c STREAMS s t > >": false},
		"envoy@3.2": {"HELLO 2": true}, // the proxy answers it
		"pika":      {"DBSLAVEOF x": false, "HELLO 2": false},
	})
	for profile, name := range map[string]string{"predixy": "SCRIPT LOAD", "camellia": "CONFIG GET"} {
		require.Error(t, lookup(t, profile).Check(name, "x"), "a single word, for a server")
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
		about := strings.ReplaceAll(lookup(t, name).About(), "not observed", "")
		unobserved := strings.Contains(about, "from its ") && !strings.Contains(about, "observed")
		assert.Equal(t, unobserved, slices.Contains(named, strings.TrimSuffix(name, "-old")), name)
	}
}

func TestExtend(t *testing.T) {
	base := proxycompat.Codis32()
	p := extended(t, base, proxycompat.Changes{
		Name: "ours", Backend: "6.2", Idle: "1m", Clients: "50", Refusal: "ERR no %l (%s) here",
		Rules: []proxycompat.RuleChange{
			{Commands: []string{"object", "RESTORE"}, Verdict: "ok", Why: "ours lets them pass", Source: "the operators"},
			{Commands: []string{"OBJECT FREQ"}, Verdict: "refused", Why: "not that", Source: "the operators"},
			{Commands: []string{"GRAB"}, Verdict: "onekey", Why: "ours alone", Source: "the operators", Keys: "num1", Args: "2+"},
			{Commands: []string{"*"}, Verdict: "refused", Why: "nothing else", Source: "the operators", Error: "ERR what is %l?"},
		},
	})
	assert.Equal(t, "ours", p.Name())
	assert.Contains(t, p.About(), "codis")
	assert.Equal(t, time.Minute, p.Idle())
	assert.Equal(t, 50, p.Clients())
	require.NoError(t, p.Check("OBJECT", "ENCODING", "k"))
	require.ErrorContains(t, p.Check("OBJECT", "FREQ", "k"), "not that")
	require.Error(t, base.Check("OBJECT", "ENCODING", "k"), "the base is as it was")
	require.NoError(t, p.Check("GRAB", "1", "k"))
	require.ErrorContains(t, p.Check("GRAB", "2", "k", "l"), "2 keys")
	require.ErrorContains(t, p.Check("GRAB", "1"), "does not accept 1 argument")
	require.Error(t, p.Check("NOSUCH", "k"))
	assert.Equal(t, "ERR what is nosuch?", p.RefusalText("NOSUCH"))
	assert.Equal(t, "ERR no watch (WATCH) here", p.RefusalText("watch"))
	require.Error(t, p.Check("HEXPIRE", "k"), "newer than the server behind")
	assert.Equal(t, base.Slot("k"), p.Slot("k"))

	closing := extended(t, base, proxycompat.Changes{Name: "x", Refusal: "-", Hash: "config", HashTag: "{}"})
	assert.Empty(t, closing.RefusalText("WATCH"))
	assert.True(t, closing.SameSlot("{a}1", "{a}2"))
}

// An observation has precedence over a rule that follows from a version.
func TestRuleChangeOverridesBackend(t *testing.T) {
	p := extended(t, lookup(t, "codis@3.2"), proxycompat.Changes{Name: "x", Rules: []proxycompat.RuleChange{
		{Commands: []string{"UNLINK"}, Verdict: "ok", Why: "backported", Source: "us"},
		{Commands: []string{"FOO BAR"}, Verdict: "refused", Why: "not that", Source: "us"},
	}})
	require.NoError(t, p.Check("UNLINK", "k"))
	require.Error(t, p.Check("GETEX", "k"), "still 3.2")
	require.Error(t, p.Check("FOO", "BAR"))
	require.NoError(t, p.Check("FOO", "BAZ"))

	ours := extended(t, proxycompat.Redis(), proxycompat.Changes{Name: "x", Rules: []proxycompat.RuleChange{
		{Commands: []string{"CLIENT", "SELECT"}, Verdict: "refused", Why: "not here", Source: "us"},
	}})
	assert.False(t, ours.Server(), "with a rule of its own it is a proxy")
	assert.NotEmpty(t, proxycompat.Explain(&redis.Options{ClientName: "c"}, ours))
}

func TestExtendErrors(t *testing.T) {
	rule := func(change func(*proxycompat.RuleChange)) proxycompat.Changes {
		good := proxycompat.RuleChange{Commands: []string{"GET"}, Verdict: "ok", Why: "w", Source: "s"}
		bad := good
		change(&bad)
		return proxycompat.Changes{Name: "x", Rules: []proxycompat.RuleChange{good, bad}}
	}
	for want, c := range map[string]proxycompat.Changes{
		`bad name ""`:         {},
		`bad name "A"`:        {Name: "A"},
		`bad name "a@3.2"`:    {Name: "a@3.2"},
		`bad hash rule "md5"`: {Name: "x", Hash: "md5"},
		"cannot be config":    {Name: "x", HashTag: "{}"},
		`bad version "new"`:   {Name: "x", Backend: "new"},
		"bad idle time":       {Name: "x", Idle: "30"},
		"bad number of clien": {Name: "x", Clients: "0"},
		"rule 2: a second":    rule(func(r *proxycompat.RuleChange) { r.Commands = []string{"SET", "get "} }),
		"rule 2: no command":  rule(func(r *proxycompat.RuleChange) { r.Commands = nil }),
		"rule 2: no reason":   rule(func(r *proxycompat.RuleChange) { r.Why = "" }),
		"rule 2: no source":   rule(func(r *proxycompat.RuleChange) { r.Source = "" }),
		"unknown verdict":     rule(func(r *proxycompat.RuleChange) { r.Verdict = "fine" }),
		"bad argument count":  rule(func(r *proxycompat.RuleChange) { r.Args = "x" }),
		"bad keys":            rule(func(r *proxycompat.RuleChange) { r.Keys = "x" }),
		"bad route":           rule(func(r *proxycompat.RuleChange) { r.Route = "x" }),
		"bad command":         rule(func(r *proxycompat.RuleChange) { r.Commands = []string{"A B C"} }),
	} {
		_, err := proxycompat.Codis32().Extend(c)
		require.ErrorContains(t, err, want)
		var bad *proxycompat.RuleError
		if c.Rules != nil {
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, 1, bad.Index)
		}
	}
}

// If a proxy forwards unknown commands by the first argument, the verdict of each follows from Redis' key
// positions.
func TestUnknownIsForwardedByItsFirstArgument(t *testing.T) {
	p := extended(t, proxycompat.Redis(), proxycompat.Changes{
		Name: "blind", Hash: "codis",
		Rules: []proxycompat.RuleChange{{Commands: []string{"*"}, Verdict: "unknown", Why: "forwarded", Source: "a test"}},
	})
	for command, want := range map[string]proxycompat.Verdict{
		"BLPOP": proxycompat.HarmsOthers, "BLMOVE": proxycompat.HarmsOthers, "XREAD": proxycompat.HarmsOthers,
		"SUBSCRIBE": proxycompat.HarmsOthers, "PSUBSCRIBE": proxycompat.HarmsOthers, "SSUBSCRIBE": proxycompat.HarmsOthers,
		"EVAL": proxycompat.Misrouted, "MSETEX": proxycompat.Misrouted, "BITOP": proxycompat.Misrouted,
		"DEL": proxycompat.OneKey, "MSET": proxycompat.OneKey,
		"GET": proxycompat.Unknown, "PING": proxycompat.Unknown, "NO-SUCH": proxycompat.Unknown,
	} {
		assert.Equal(t, want, p.Rule(command).Verdict, command)
	}
}

func TestTag(t *testing.T) {
	codis, twem := proxycompat.Codis32(), proxycompat.Twemproxy05()
	braces, err := twem.WithHashTag("{}")
	require.NoError(t, err)
	dollars, err := twem.WithHashTag("$$")
	require.NoError(t, err)
	for key, want := range map[string][4]string{ // codis, twemproxy, with {}, with $$
		"":          {"", "", "", ""},
		"k":         {"k", "k", "k", "k"},
		"{a}b":      {"a", "{a}b", "a", "{a}b"},
		"{}b":       {"", "{}b", "{}b", "{}b"},
		"a{}{b}c":   {"", "a{}{b}c", "a{}{b}c", "a{}{b}c"},
		"x{a}{b}":   {"a", "x{a}{b}", "a", "x{a}{b}"},
		"x$a$b":     {"x$a$b", "x$a$b", "x$a$b", "a"},
		"{a":        {"{a", "{a", "{a", "{a"},
		"}{a}":      {"a", "}{a}", "a", "}{a}"},
		"{{a}}x":    {"{a", "{{a}}x", "{a", "{{a}}x"},
		"$a{b}c$$$": {"b", "$a{b}c$$$", "b", "a{b}c"},
	} {
		for i, p := range []*proxycompat.Profile{codis, twem, braces, dollars} {
			assert.Equal(t, want[i], p.Tag(key), "%s, %d: %s", p.Name(), i, key)
		}
	}
	assert.True(t, braces.SameSlot("{a}1", "{a}2"))
	assert.False(t, twem.SameSlot("{a}1", "{a}2"), "no tag is configured")
	assert.True(t, twem.SameSlot("a", "a"))
	assert.True(t, codis.SameSlot("{}a", "{}b"), "Codis takes an empty tag for one")
	assert.True(t, proxycompat.Redis().SameSlot("a", "b"))
	assert.True(t, twem.SameSlot())
	require.NoError(t, braces.AllowTagged().Check("SINTER", "{a}1", "{a}2"))
	require.Error(t, braces.AllowTagged().Check("SINTER", "{a}1", "{b}2"))

	_, err = twem.WithHashTag("{")
	require.EqualError(t, err, `proxycompat: bad hash tag "{": want the two characters around it, as in {}`)
	_, err = codis.WithHashTag("{}")
	require.EqualError(t, err, "proxycompat: the hash tag of codis cannot be configured")
}

// The values for clusters are those of the Redis Cluster specification and of CLUSTER KEYSLOT.
func TestSlot(t *testing.T) {
	codis := proxycompat.Codis32()
	assert.Zero(t, codis.Slot("{}anything"))
	assert.Equal(t, 0xcbf43926%1024, codis.Slot("{123456789}b"), "the check value of CRC-32")
	assert.Equal(t, -1, proxycompat.Twemproxy05().Slot("a"))
	cluster := lookup(t, "cluster")
	for key, slot := range map[string]int{
		"123456789": 0x31c3, "a{foo}{bar}": 12182, "": 0, "foo{}{bar}": 8363, "{user1000}.following": 3443,
	} {
		assert.Equal(t, slot, cluster.Slot(key), key)
	}
}
