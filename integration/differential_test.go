package integration_test

import (
	"bufio"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// battery returns commands with valid, invalid and missing arguments; each finds the state that earlier
// ones left. It has every command of Redis with a reply that depends on stored data only.
func battery(seed uint64, rounds int, keys []string) [][]string {
	rng := rand.New(rand.NewPCG(seed, 1))
	var names []string
	for _, c := range proxycompat.Commands() {
		if !c.Subcommand() && !strings.Contains(c.Name, ".") && steady(c) {
			names = append(names, c.Name)
		}
	}
	words := []string{"1", "2", "0", "a", "b", "10.5", "(1", "+inf", "-", "+", "x", "100", "LEFT", "RIGHT", "ASC", "MATCH", "*", "COUNT"}
	var out [][]string
	for range rounds {
		for _, name := range names {
			args := []string{name}
			for i := range rng.IntN(6) {
				if pool := words; i == 0 || rng.IntN(3) == 0 {
					args = append(args, keys[rng.IntN(len(keys))])
				} else {
					args = append(args, pool[rng.IntN(len(pool))])
				}
			}
			out = append(out, args)
		}
		key := keys[rng.IntN(len(keys))]
		out = append(out, scripts(rng, keys)...)
		out = append(out, []string{"EXPIRE", key, "10000"}, []string{"PEXPIRE", key, "10000000"}, []string{"SET", key, "v", "EX", "10000"},
			[]string{"SETEX", key, "10000", "v"}, []string{"PSETEX", key, "10000000", "v"}, []string{"GETEX", key, "PERSIST"})
	}
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

const knownScript = "redis.call('HSET', KEYS[1] or '', 'f', 'v') return {KEYS[1] or 'none', ARGV[1] or 'none', #KEYS, #ARGV}"

// scripts returns EVAL and EVALSHA calls, which random words never form: with a right and a wrong number of
// keys, known and unknown.
func scripts(rng *rand.Rand, keys []string) (out [][]string) {
	sha := fmt.Sprintf("%x", sha1.Sum([]byte(knownScript)))
	for _, n := range []string{"0", "1", "2", "-1", "x", "9"} {
		unknown := strings.Repeat("0", 40)
		for _, head := range [][]string{{"EVAL", knownScript}, {"EVAL", "return 1"}, {"EVALSHA", sha}, {"EVALSHA", unknown}} {
			args := append(slices.Clone(head), n)
			for range rng.IntN(4) {
				args = append(args, keys[rng.IntN(len(keys))])
			}
			out = append(out, args)
		}
	}
	return out
}

// steady reports whether a command always has the same reply on any server, and neither blocks nor closes.
func steady(c proxycompat.Command) bool {
	switch c.Group {
	case "string", "hash", "list", "set", "zset", "generic", "bitmap", "geo", "hyperloglog", "stream",
		"txn", "pubsub", "scripting", "connection":
	default: // no command about the server itself
		return false
	}
	return !c.Blocks() && !slices.Contains([]string{
		// Random replies, the clock, undefined orders, or the server's other activity;
		// TestProxytestMatchesExpiry covers the clock.
		"SPOP", "SRANDMEMBER", "RANDOMKEY", "HRANDFIELD", "ZRANDMEMBER", "XADD",
		"TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "OBJECT", "DUMP",
		"SCAN", "SSCAN", "HSCAN", "ZSCAN", "KEYS", "SMEMBERS", "SUNION", "SINTER", "SDIFF", "HGETALL", "HKEYS", "HVALS", "SORT", "SORT_RO",
		"EXPIRE", "PEXPIRE", "SETEX", "PSETEX", "GETEX", // with a short expiry; see battery
		"CLIENT", "HELLO", "AUTH", "RESET", "QUIT", "SCRIPT", "FUNCTION", "MIGRATE", "WAIT", "WAITAOF", "PUBSUB", "XINFO", "XPENDING",
		"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE",
	}, c.Name)
}

// asker sends commands one by one, and dials again after a close.
type asker struct {
	t    *testing.T
	dial func() (net.Conn, error)
	conn net.Conn
	br   *bufio.Reader
}

func (a *asker) ask(args []string) string {
	if a.conn == nil {
		var err error
		a.conn, err = a.dial()
		require.NoError(a.t, err)
		a.br = bufio.NewReader(a.conn)
	}
	require.NoError(a.t, a.conn.SetDeadline(time.Now().Add(10*time.Second)))
	_, err := a.conn.Write(resp.AppendCommand(nil, args...))
	var reply resp.Reply
	if err == nil {
		reply, err = resp.ReadReply(nil, a.br, resp.Limits{})
	}
	if err != nil {
		require.True(a.t, errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || strings.Contains(err.Error(), "reset"),
			"%v: %v", args[0], err)
		_ = a.conn.Close()
		a.conn = nil
		return "closed"
	}
	return string(reply)
}

func (a *asker) close() {
	if a.conn != nil {
		_ = a.conn.Close()
	}
}

func tcp(addr string) func() (net.Conn, error) {
	return func() (net.Conn, error) { return net.DialTimeout("tcp", addr, 10*time.Second) }
}

// differ sends the same commands to both, and lists different replies.
func differ(t *testing.T, commands [][]string, real, ours func(args []string) string) (differences []string) {
	t.Helper()
	for _, args := range commands {
		if a, b := real(args), ours(args); a != b {
			differences = append(differences, fmt.Sprintf("%q: real %q, ours %q", args, a, b))
		}
	}
	return differences
}

// Package proxytest replies like the real nutcracker, command by command.
func TestProxytestMatchesTwemproxy(t *testing.T) {
	t.Parallel()
	for backends := 1; backends <= 2; backends++ {
		t.Run(fmt.Sprint(backends, " servers"), func(t *testing.T) {
			var theirs, ours []string
			for range backends {
				theirs = append(theirs, servers.Redis(t).Addr)
				ours = append(ours, servers.Redis(t).Addr)
			}
			nutcracker := servers.Nutcracker(t, theirs, 1)
			p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Twemproxy05(), Backends: ours, InMemory: true})
			require.NoError(t, err)
			defer func() { require.NoError(t, p.Close()) }()
			a := &asker{t: t, dial: tcp(nutcracker.Addr)}
			b := &asker{t: t, dial: func() (net.Conn, error) { return p.Dial(t.Context(), "", "") }}
			defer a.close()
			defer b.close()
			commands := battery(uint64(backends), 30, []string{"k1", "k2", "k3"})
			if backends > 1 { // keys of one command on two servers: the hash functions differ
				commands = slices.DeleteFunc(commands, func(args []string) bool {
					keys, _ := proxycompat.KeysOf(args...)
					several := len(keys) > 1 || args[0] == "EVALSHA" // the server that has a script depends on the hash function, too
					return several && proxycompat.Twemproxy05().RuleFor(args...).Verdict == proxycompat.OneKey
				})
			}
			differences := differ(t, commands, a.ask, b.ask)
			t.Logf("%d commands compared, %d differences", len(commands), len(differences))
			assert.Empty(t, strings.Join(differences[:min(len(differences), 300)], "\n"))
		})
	}
}

// Package proxytest replies like the right node of a real cluster.
func TestLongProxytestMatchesCluster(t *testing.T) {
	t.Parallel()
	long.Only(t)
	profile, err := proxycompat.Lookup("cluster@7.0") // the version of the nodes
	require.NoError(t, err)
	nodes := servers.Cluster(t, 3)
	p, err := proxytest.Start(proxytest.Config{Profile: profile, Backends: []string{servers.Redis(t).Addr}, InMemory: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	var askers []*asker
	for _, n := range nodes {
		askers = append(askers, &asker{t: t, dial: tcp(n.Addr)})
		defer askers[len(askers)-1].close()
	}
	ours := &asker{t: t, dial: func() (net.Conn, error) { return p.Dial(t.Context(), "", "") }}
	defer ours.close()
	for _, a := range append(askers, ours) { // otherwise only the executing nodes have the script
		a.ask([]string{"SCRIPT", "LOAD", knownScript})
	}
	owner := func(args []string) *asker {
		if keys, _ := proxycompat.KeysOf(args...); len(keys) > 0 {
			return askers[profile.Slot(args[keys[0]])*len(nodes)/profile.Slots()]
		}
		return askers[0]
	}
	// A transaction lives on one node; the other askers do not see it.
	commands := slices.DeleteFunc(battery(3, 30, []string{"{a}1", "{a}2", "b", "c"}), func(args []string) bool {
		c, _ := proxycompat.CommandOf(args...)
		return c.Group == "txn"
	})
	differences := differ(t, commands, func(args []string) string { return owner(args).ask(args) }, ours.ask)
	t.Logf("%d commands compared, %d differences", len(commands), len(differences))
	assert.Empty(t, strings.Join(differences[:min(len(differences), 300)], "\n"))
}

// An in-process server rounds TTL and EXPIRETIME like a real one, to the nearest second. Each reading is in
// the command that sets the expiry, or far from a rounding limit, so that it does not depend on the time of
// the query.
func TestProxytestMatchesExpiry(t *testing.T) {
	p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis(), InMemory: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	a := &asker{t: t, dial: tcp(servers.Redis(t).Addr)}
	b := &asker{t: t, dial: func() (net.Conn, error) { return p.Dial(t.Context(), "", "") }}
	defer a.close()
	defer b.close()
	commands := [][]string{
		{"TTL", "none"}, {"PTTL", "none"}, {"EXPIRETIME", "none"}, {"PEXPIRETIME", "none"},
		{"SET", "k", "v"}, {"TTL", "k"}, {"PTTL", "k"}, {"EXPIRETIME", "k"}, {"PEXPIRETIME", "k"},
		{"TTL"}, {"TTL", "k", "k"}, {"PTTL"}, {"EXPIRETIME"}, {"PEXPIRETIME", "k", "k"},
	}
	year := time.Now().Add(365*24*time.Hour).Unix() * 1000
	for _, ms := range []int64{0, 400, 600, 999} {
		commands = append(commands, []string{"PEXPIREAT", "k", fmt.Sprint(year + ms)}, []string{"EXPIRETIME", "k"})
	}
	for _, ms := range []string{"1999", "60999", "100001"} { // values that rounding down and rounding to the nearest change differently
		commands = append(commands, []string{"SET", "k", "v", "PX", ms}, []string{"TTL", "k"},
			[]string{"MULTI"}, []string{"PEXPIRE", "k", ms}, []string{"TTL", "k"}, []string{"EXEC"})
	}
	assert.Empty(t, strings.Join(differ(t, commands, a.ask, b.ask), "\n"))
	for _, asked := range []*asker{a, b} {
		number := func(args ...string) int64 {
			n, ok := resp.Reply(asked.ask(args)).Int()
			require.True(t, ok)
			return n
		}
		number("PEXPIREAT", "k", fmt.Sprint(year))
		assert.InDelta(t, year, number("PEXPIRETIME", "k"), 1, "miniredis adds what is left to its clock, which has moved on")
		number("PEXPIRE", "k", "100000")
		assert.InDelta(t, 95_000, number("PTTL", "k"), 5_000)
	}
}
