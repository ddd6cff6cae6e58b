package probe

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/proxycompat"
)

func ringOfTwo() *keyring {
	k := newKeyring("prefix:")
	k.homes = []string{"one", "two"}
	return k
}

// The battery harms no other client behind any proxy, and never blocks.
func TestBatteryHarmsNoOtherClient(t *testing.T) {
	long.Repeats(t)
	for _, q := range questions(battery, ringOfTwo()) {
		assert.NotContains(t, []string{guardedSelect, guardedWatch, "HELLO", "RESET"}, q.name)
		c, known := commandOf(q.name)
		assert.True(t, known, "%s is no command of Redis", q.name)
		assert.False(t, c.Blocks(), q.name)
		for _, name := range proxycompat.Names() {
			profile, err := proxycompat.Lookup(name)
			require.NoError(t, err)
			assert.False(t, harms(profile, q), "%s harms others behind %s", q.name, name)
		}
	}
}

// No configuration permits these commands, nor foreign keys.
func TestForbiddenCommandsAreNotSent(t *testing.T) {
	forbidden := []string{
		"FLUSHALL", "FLUSHDB", "KEYS", "RANDOMKEY", "CONFIG SET", "CONFIG REWRITE", "CONFIG RESETSTAT", "SHUTDOWN", "DEBUG", "MIGRATE",
		"SCRIPT FLUSH", "SCRIPT KILL", "SCRIPT DEBUG", "FUNCTION FLUSH", "FUNCTION DELETE", "FUNCTION LOAD", "MONITOR", "REPLICAOF",
		"SLAVEOF", "FAILOVER", "SWAPDB", "MOVE", "SYNC", "PSYNC", "CLIENT KILL", "CLIENT PAUSE", "CLIENT REPLY", "SAVE", "BGSAVE",
		"BGREWRITEAOF", "CLUSTER RESET", "CLUSTER FAILOVER", "SLOWLOG RESET", "LATENCY RESET", "ACL SETUSER", "MODULE LOAD",
	}
	for _, q := range slices.Concat(questions(battery, ringOfTwo()), questions(risky, ringOfTwo())) {
		assert.NotContains(t, forbidden, q.name)
		assert.NotContains(t, forbidden, q.args[0])
		for _, key := range q.keysIn() {
			assert.True(t, strings.HasPrefix(key, "prefix:{"), "%s: %s", q.name, key)
		}
	}
}

// A write is followed by an expiry in the same flush, and names no second key, which a proxy might route
// elsewhere.
func TestBatteryWritesExpire(t *testing.T) {
	wrote := 0
	for _, q := range questions(battery, ringOfTwo()) {
		if !writes(q.name) {
			assert.Len(t, q.flush(writes), 1)
			continue
		}
		wrote++
		keys := q.keysIn()
		slices.Sort(keys)
		keys = slices.Compact(keys)
		switch q.name {
		case "EVAL", "EVALSHA": // these scripts only read
		case "COPY": // keeps the expiry
			assert.Len(t, keys, 2)
		default:
			assert.Len(t, keys, 1, q.name)
		}
		flush := q.flush(writes)
		assert.Equal(t, q.args, flush[0])
		for _, key := range keys {
			assert.Contains(t, flush[1:], []string{"PEXPIRE", key, lifetimeText()}, q.name)
		}
	}
	assert.Greater(t, wrote, 60)
}

// Probe does not send a command that the given profile marks as harmful.
func TestGivenProfileLimitsTheQuestions(t *testing.T) {
	profile, err := proxycompat.Redis().Extend(proxycompat.Changes{Name: "ours", Rules: []proxycompat.RuleChange{
		{Commands: []string{"GEOADD"}, Verdict: "harms", Why: "a test", Source: "a test"},
	}})
	require.NoError(t, err)
	p := &prober{cfg: Config{Profile: profile}}
	q := question{name: "GEOADD", args: []string{"GEOADD", "k"}}
	assert.True(t, p.harmsBase(q))
	p.cfg.Risky = true
	assert.False(t, p.harmsBase(q))
}

func TestMask(t *testing.T) {
	p := &prober{cfg: Config{Prefix: "prefix:", Password: "hunter2", Username: "bob"}}
	for text, want := range map[string]string{
		"ERR unknown command 'x', with args beginning with: 'hunter2' ": "ERR unknown command 'x'",
		"WRONGPASS bob/hunter2 is bad":                                  "WRONGPASS …/… is bad",
		"ERR no key 'prefix:{a}b' and prefix:c":                         "ERR no key '…' and …",
		"ERR \x1b[31mred\r\n":                                           "ERR [31mred",
		strings.Repeat("x", 300):                                        strings.Repeat("x", maxText) + "…",
	} {
		assert.Equal(t, want, p.mask(text))
	}
}

func TestClassify(t *testing.T) {
	for reply, want := range map[string]Outcome{
		"+OK\r\n": OK, "$-1\r\n": OK, "*0\r\n": OK,
		"-ERR unknown command 'x'\r\n":                                     Refused,
		"-ERR handle request, command 'WATCH' is not allowed\r\n":          Refused,
		"-unsupported command 'HELLO'\r\n":                                 Refused,
		"-ERR command 'WATCH' not support\r\n":                             Refused,
		"-CROSSSLOT Keys in request don't hash to the same slot\r\n":       Refused,
		"-ERR forbid transaction in current server pool\r\n":               Refused,
		"-WRONGTYPE Operation against a key\r\n":                           Failed,
		"-ERR syntax error\r\n":                                            Failed,
		"-NOPERM this user has no permissions to run 'x'\r\n":              Forbidden,
		"-ERR This instance has cluster support disabled\r\n":              Failed,
		"-ERR wrong number of arguments for 'x' command\r\n":               Failed,
		"-NOSCRIPT No matching script. Please use EVAL.\r\n":               Failed,
		"-ERR Unknown subcommand or wrong number of arguments for 'x'\r\n": Refused,
	} {
		got, _ := classify(question{}, []byte(reply))
		assert.Equal(t, want, got, reply)
	}
	strict, _ := classify(question{strict: true}, []byte("-ERR This instance has cluster support disabled\r\n"))
	assert.Equal(t, Refused, strict)
}
