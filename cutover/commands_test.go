package cutover_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/profilefile"
	"github.com/unwatch/unwatch/proxycompat/scriptcheck"
	"github.com/unwatch/unwatch/rmw"
)

// Each command acts on a marker as the table of docs/cutover.md says. The profile beside that page
// refuses the commands that destroy a marker.
func TestCommandsOnAMarker(t *testing.T) {
	long.Repeats(t)
	profile, err := profilefile.Load("../cmd/migrate-check/blind-writers.yaml")
	require.NoError(t, err)
	refused := func(name string) bool { return profile.Rule(name).Verdict == proxycompat.Refused }
	r := newRig(t)
	old, new, key := r.admin(0), r.admin(1), rmw.Key{Name: "k"}
	marker := func() []string { return old.LRange(t.Context(), "k", 0, -1).Val() }
	soon := time.Now().Add(time.Minute)
	for _, group := range []struct {
		commands        string
		fails, destroys bool
	}{
		{"GET k, SET k v GET, GETSET k v, GETDEL k, GETEX k, APPEND k v, INCR k, SETRANGE k 0 v, STRLEN k, GETBIT k 0, SETBIT k 0 1, " +
			"PFADD k v, HSET k f v, HGETALL k, HDEL k f, SADD k v, ZADD k 1 v", true, false},
		{"SETNX k v, SET k v NX, MGET k o, EXISTS k, TYPE k, TTL k, TOUCH k, PERSIST k, RENAMENX o k", false, false},
		{"SET k v, SET k v XX, SET k v KEEPTTL, SETEX k 9 v, PSETEX k 9000 v, MSET k v, DEL k, UNLINK k, RENAME o k, RENAME k free, RENAMENX k free, " +
			fmt.Sprintf("EXPIRE k 9, PEXPIRE k 9000, EXPIREAT k %d, PEXPIREAT k %d, ", soon.Unix(), soon.UnixMilli()) +
			"SUNIONSTORE k none, SINTERSTORE k none, SDIFFSTORE k none, ZUNIONSTORE k 1 none, ZINTERSTORE k 1 none, FLUSHDB, FLUSHALL", false, true},
	} {
		for command := range strings.SplitSeq(group.commands, ", ") {
			require.NoError(t, old.Del(t.Context(), "k", "free").Err())
			require.NoError(t, new.Del(t.Context(), "k").Err())
			require.NoError(t, old.Set(t.Context(), "o", "v", 0).Err())
			p := r.open(forward)
			p.put(key, rmw.String("x"))
			require.NoError(t, p.Close())
			before := marker()
			require.NotEmpty(t, before, command)
			err := do(t, old, command)
			if group.fails {
				assert.ErrorContains(t, err, "WRONGTYPE", command)
			} else if !errors.Is(err, redis.Nil) {
				assert.NoError(t, err, command)
			}
			stays := slices.Equal(before, marker()) && old.TTL(t.Context(), "k").Val() < 0
			assert.Equal(t, group.destroys, !stays, command)
			if name, _, _ := strings.Cut(command, " "); name != "SET" && name != "RENAMENX" {
				assert.Equal(t, group.destroys, refused(name), command)
			}
		}
	}
	assert.True(t, refused("SET") && refused("RENAMENX"), "with other arguments they do no harm")
}

// do sends a command, as words.
func do(t *testing.T, rdb *redis.Client, command string) error {
	args := []any{}
	for word := range strings.FieldsSeq(command) {
		args = append(args, word)
	}
	return rdb.Do(t.Context(), args...).Err()
}

// The script runs on Redis 3.2 to 8, and behind proxies that check scripts.
func TestScriptIsPermitted(t *testing.T) {
	for _, name := range proxycompat.Names() {
		profile, err := proxycompat.Lookup(name)
		require.NoError(t, err)
		if profile.Check("EVAL", "", "1", "k") != nil {
			continue
		}
		found, err := scriptcheck.CheckScript(profile, markerScript)
		require.NoError(t, err)
		// The script asks for an absent key of its slot: a Redis Cluster refuses that while it moves the slot.
		for _, f := range found {
			assert.Equal(t, scriptcheck.UndeclaredKey, f.Rule, "%s: %v", name, f)
			assert.Contains(t, strings.Split(markerScript, "\n")[f.Line-1], "'EXISTS'")
		}
	}
	code := regexp.MustCompile(`(?m)--.*$`).ReplaceAllString(markerScript, "")
	calls := regexp.MustCompile(`redis\.p?call\('([A-Z]+)'(?:, (\S+?))?[,)]`).FindAllStringSubmatch(code, -1)
	assert.Len(t, calls, strings.Count(code, "redis.call")+strings.Count(code, "redis.pcall"))
	var used []string
	for _, call := range calls {
		used = append(used, call[1])
		if call[1] != "TIME" && call[1] != "EXISTS" {
			assert.Equal(t, "KEYS[1]", call[2], "the key must be literally KEYS[1]")
		}
	}
	slices.Sort(used)
	assert.Equal(t, cutover.RequiredCommands(), slices.Compact(used))
}

// The price of a call is counted in round trips that the caller waits for.
func TestRoundTrips(t *testing.T) {
	long.Repeats(t)
	update := func(p process) error { return p.change(add("x")) }
	read := func(p process) error { _, err := p.Read(p.t.Context(), room); return err }
	for name, tc := range map[string]struct {
		before, now cutover.Stage
		call        func(p process) error
		want        int64
	}{
		"update, open":                  {follow, follow, update, 2},
		"update, moved":                 {forward, forward, update, 2},
		"update that moves the key":     {follow, forward, update, 7},
		"update that moves it back":     {forward, reverse, update, 8}, // one tests for room
		"update, moved, an old stage":   {forward, follow, update, 5},
		"update that writes nothing":    {forward, forward, func(p process) error { return p.change(keep) }, 1},
		"read, open":                    {follow, follow, read, 1},
		"read, moved":                   {forward, forward, read, 1},
		"read, moved, an old stage":     {forward, follow, read, 4},
		"read before the key has moved": {follow, forward, read, 4},
	} {
		run(t, name, func(t *testing.T, r *rig) {
			before, p := r.open(tc.before), r.open(tc.now)
			var took time.Duration
			for range 3 { // the first rounds load the scripts and open connections
				r.proxies[0].Engine(0).FlushAll()
				r.proxies[1].Engine(0).FlushAll()
				r.proxies[1].Engine(1).FlushAll()
				before.add("first")
				sleep(time.Second)
				began := time.Now()
				require.NoError(t, tc.call(p))
				took = time.Since(began)
			}
			assert.Equal(t, tc.want, int64(took/flush))
		})
	}
}

// A sweep costs 4 scripts a key in either direction, and a TYPE. A second pass costs 2 looks a key
// forward, and none backward. Verify costs 2 looks a key, and a TYPE of each name in the new store. It writes nothing.
func TestSweepCommands(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		const n = 40
		r.fill(n)
		for _, stage := range []cutover.Stage{forward, reverse} { // loads the scripts
			r.swept(stage)
		}
		half, verified := cutover.Stage{Phase: cutover.Copying, Percent: 50}, operate.Report{}
		for _, tc := range []struct {
			act  func()
			want map[string]int
		}{
			{func() { r.swept(forward) }, map[string]int{"reserve": n, "seal": n, "fill": n, "mark": n, "type": n}},
			{func() { r.swept(forward) }, map[string]int{"look": 2 * n, "type": n}},
			{func() { r.swept(reverse) }, map[string]int{"look": n, "touch": n, "seal": n, "fill": n, "mark": n, "type": n}},
			{func() { r.swept(reverse) }, map[string]int{"type": n}},
			{func() { r.swept(half) }, nil},
			{func() { verified = r.verify(16) }, map[string]int{"look": 2 * n, "type": n, "fields": n / 5}}, // every fifth is a hash
		} {
			for _, p := range r.proxies {
				p.ResetCalls()
			}
			tc.act()
			if tc.want != nil {
				assert.Equal(t, tc.want, r.steps())
			}
		}
		assert.Equal(t, n, verified.Open+verified.Equal)
		for _, p := range r.proxies {
			reads := []string{
				"HELLO", "CLIENT", "INFO", "SCAN", "TYPE", "EVALSHA", "EVAL", "PTTL", "STRLEN", "HSCAN", "HLEN", "GET", "HGETALL",
			}
			for command := range p.Count() {
				assert.Contains(t, reads, command)
			}
		}
	})
}

// The new store gets nothing but scripts from updates and sweeps.
func TestNewStoreGetsScriptsOnly(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for _, stage := range []cutover.Stage{follow, forward, reverse, forward} {
			p, phase := r.open(stage), stage.Phase.String()
			for key, value := range map[rmw.Key]rmw.Value{
				{Name: "s"}: rmw.String(phase), {Name: "h", Kind: rmw.KindHash}: rmw.Hash(map[string]string{"phase": phase}),
			} {
				p.put(key, value)
				p.peek(key)
			}
			p.sweep(r.old(2))
			require.NoError(t, p.Close())
		}
		require.NotEmpty(t, r.proxies[1].Calls())
		for _, c := range r.proxies[1].Calls() {
			require.Contains(t, []string{"EVAL", "EVALSHA"}, c.Command())
		}
	})
}

// steps counts the steps that the proxies were sent.
func (r *rig) steps() map[string]int {
	count := map[string]int{}
	for _, p := range r.proxies {
		for _, c := range p.Calls() {
			switch c.Command() {
			case "EVALSHA", "EVAL":
				count[c.Args[4]]++
			case "TYPE":
				count["type"]++
			}
		}
	}
	return count
}
