package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// sides are an old Redis and a Codis proxy, and the flags that name them.
type sides struct {
	proxies [2]*proxytest.Proxy
	servers [2]*miniredis.Miniredis // behind them; the old one has the census
	olds    []string                // addresses of the servers behind the old proxy
	stores  [2]*lockupdate.Store
	flags   []string
}

func newSides(t *testing.T) *sides { return newSidesOf(t, proxycompat.Redis(), 1) }

// newSidesOf is newSides with another old store.
func newSidesOf(t *testing.T, old *proxycompat.Profile, masters int) *sides {
	s := &sides{flags: []string{"-name", "desk"}}
	for i, profile := range []*proxycompat.Profile{old, proxycompat.Codis32()} {
		var servers []*miniredis.Miniredis
		var addrs []string
		for range []int{masters, 1}[i] {
			server := miniredis.RunT(t)
			servers, addrs = append(servers, server), append(addrs, server.Addr())
		}
		p, err := proxytest.Start(proxytest.Config{Profile: profile, Backends: addrs})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close()) })
		s.servers[i] = servers[p.BackendOf("~cutover:{desk}:census")]
		if i == 0 {
			s.olds = addrs
		}
		rdb := redis.NewClient(p.Options())
		t.Cleanup(func() { require.NoError(t, rdb.Close()) })
		store := lockupdate.New(rdb, lockupdate.Config{})
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		s.proxies[i], s.stores[i] = p, store
		s.flags = append(s.flags, []string{"-old", "-new"}[i], p.Addr())
	}
	return s
}

// beat writes the heartbeat of a process that has seen the epoch.
func (s *sides) beat(epoch uint64) {
	s.servers[0].HSet("~cutover:{desk}:census", "desk-0:1:abcd", fmt.Sprintf(`{"epoch":%d,"at":"2026-01-02T03:04:05Z"}`, epoch))
}

// copying advances to copying some percent, which the process of beat has seen.
func (s *sides) copying(t *testing.T, percent string) {
	t.Helper()
	s.beat(0)
	r := s.try(t, "advance", append(s.masters(), "-percent", percent)...)
	require.Equal(t, codeOK, r.code, r.stdout)
	s.beat(1)
}

// fill stores n rooms in the old store.
func (s *sides) fill(t *testing.T, n int) *redis.Client {
	t.Helper()
	old := redis.NewClient(s.proxies[0].Options())
	t.Cleanup(func() { require.NoError(t, old.Close()) })
	for i := range n {
		require.NoError(t, old.Set(t.Context(), fmt.Sprint("room:", i), "v", 0).Err())
	}
	return old
}

// loading makes the old store answer as one that loads its data, until the returned function is called.
func (s *sides) loading() (loaded func()) {
	return s.proxies[0].Inject(proxytest.Fault{
		Times: -1, Action: proxytest.RefuseWith, Text: "LOADING Redis is loading the dataset in memory",
		Match: func(args []string) bool { return !strings.EqualFold(args[0], "INFO") },
	})
}

// masters names the servers behind the proxy.
func (s *sides) masters() []string { return []string{"-new-masters", s.servers[1].Addr()} }

func (s *sides) try(t *testing.T, action string, args ...string) ran {
	return try(t.Context(), append(append([]string{"cutover", action}, s.flags...), args...)...)
}

func TestCutoverPlaysAMigration(t *testing.T) {
	s := newSides(t)
	r := s.try(t, "status")
	assert.Equal(t, codeUnknown, r.code, "no heartbeats: %s", r.stderr)
	assert.Contains(t, r.stdout, "Cut-over desk: follow, epoch 0")
	assert.Contains(t, unwrapped(r.stdout), "start a Heartbeat in each process")
	fits(t, r.stdout)
	r = s.try(t, "advance", append(s.masters(), "-percent", "5")...)
	assert.Equal(t, codeUnknown, r.code)
	assert.Contains(t, r.stdout, "not done: write")

	s.beat(0)
	r = s.try(t, "advance", "-percent", "5")
	assert.Equal(t, codeDiffers, r.code)
	assert.Contains(t, unwrapped(r.stdout), "own keys, new: name every server of the new store")
	dry := s.try(t, "advance", append(s.masters(), "-percent", "5", "-labels", "room,visitor", "-dry-run")...)
	assert.Equal(t, codeUnknown, dry.code, "the emulated servers have no CONFIG: %s", dry.stdout)
	assert.Contains(t, unwrapped(dry.stdout), "not done: write stage copying 5 % of room, visitor with epoch 1 into the old store")
	present, err := cutover.Current(t.Context(), "desk", s.stores[0], s.stores[1])
	require.NoError(t, err)
	assert.Zero(t, present.Epoch)

	passes := filepath.Join(t.TempDir(), "passes.json")
	sweep := append(s.masters(), "-passes", passes)
	s.fill(t, 10)
	require.NoError(t, os.WriteFile(passes, nil, 0o600))
	for _, step := range []struct {
		action string
		args   []string
		code   int
		want   string // of the stage afterwards
		epoch  uint64
	}{
		{"reverse", nil, codeDiffers, "follow", 0},
		{"advance", append(s.masters(), "-percent", "5", "-labels", "room,visitor"), codeOK, "copying 5 % of room, visitor", 1},
		{"freeze", nil, codeOK, "copying 5 % of room, visitor, frozen", 2},
		{"freeze", []string{"-off"}, codeOK, "copying 5 % of room, visitor", 3},
		{"advance", []string{"-to", "complete"}, codeDiffers, "copying 5 % of room, visitor", 3},
		{"reverse", nil, codeOK, "reverse", 4},
		{"advance", []string{"-percent", "100", "-labels", ""}, codeOK, "copying 100 %", 5},
		{"advance", []string{"-to", "complete"}, codeUnknown, "copying 100 %", 5},
		{"sweep", sweep, codeOK, "copying 100 %", 5},
		{"sweep", sweep, codeOK, "copying 100 %", 5},
		{"advance", []string{"-to", "complete", "-passes", passes}, codeDiffers, "copying 100 %", 5},
		{"sweep", sweep, codeOK, "copying 100 %", 5},
		{"advance", []string{"-to", "complete", "-passes", passes}, codeUnknown, "copying 100 %", 5},
		{"verify", sweep, codeOK, "copying 100 %", 5},
		{"advance", []string{"-to", "complete", "-passes", passes}, codeOK, "complete", 6},
		{"reverse", nil, codeDiffers, "complete", 6},
		{"sweep", sweep, codeOK, "complete", 6},
		{"verify", sweep, codeOK, "complete", 6},
	} {
		r := s.try(t, step.action, step.args...)
		require.Equal(t, step.code, r.code, "%v: %s%s", step, r.stdout, r.stderr)
		fits(t, r.stdout)
		present, err := cutover.Current(t.Context(), "desk", s.stores[0], s.stores[1])
		require.NoError(t, err)
		assert.Equal(t, step.want, present.String())
		assert.Equal(t, step.epoch, present.Epoch)
		s.beat(step.epoch)
	}

	r = s.try(t, "status", "-passes", passes)
	assert.Equal(t, codeOK, r.code, "the cut-over can be removed: %s", r.stdout)
	r = s.try(t, "status", "-json")
	assert.Equal(t, codeUnknown, r.code, "the passes are not given: %s", r.stdout)
	var a cutoverAnswer
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &a))
	assert.Equal(t, "complete", a.Stage.String())
	assert.EqualValues(t, 7, a.Next.Epoch)
	assert.Len(t, a.Processes, 1)
}

// Passes with a pattern that misses a label do not permit Complete.
func TestCutoverIsNotCompleteWithoutALabel(t *testing.T) {
	s := newSides(t)
	old := s.fill(t, 10)
	for i := range 10 {
		require.NoError(t, old.Set(t.Context(), fmt.Sprint("visitor:", i), "v", 0).Err())
	}
	passes := filepath.Join(t.TempDir(), "sweep.json")
	s.copying(t, "100")
	advance := func(walk ...string) ran {
		walk = append(append(walk, s.masters()...), "-passes", passes)
		for range 3 {
			require.Equal(t, codeOK, s.try(t, "sweep", walk...).code)
		}
		require.Equal(t, codeOK, s.try(t, "verify", walk...).code)
		return s.try(t, "advance", "-to", "complete", "-passes", passes)
	}
	r := advance("-keys", "room:*=room")
	assert.Equal(t, codeDiffers, r.code)
	assert.Contains(t, unwrapped(r.stdout), "names left out not ready 10 0 in 2 passes")
	assert.Contains(t, unwrapped(r.stdout), "choose them by SweepConfig.Keys (-keys), or name those of other services in SweepConfig.Foreign (-foreign): visitor:")
	r = advance("-keys", "room:*=room", "-foreign", "visitor:[0-8]")
	assert.Equal(t, codeDiffers, r.code)
	assert.Contains(t, unwrapped(r.stdout), "(-foreign): visitor:9")
	fits(t, r.stdout)
	assert.Equal(t, codeOK, advance().code)
}

func TestCutoverSweepsAndVerifies(t *testing.T) {
	s := newSides(t)
	old := s.fill(t, 40)
	require.NoError(t, old.Set(t.Context(), "other", "v", 0).Err())
	require.NoError(t, old.SAdd(t.Context(), "room:set", "v").Err())
	passes := filepath.Join(t.TempDir(), "passes.json")
	s.beat(0)
	p := s.try(t, "plan", s.masters()...)
	assert.Equal(t, codeUnknown, p.code, "the emulated servers have no CONFIG: %s", p.stderr)
	assert.Contains(t, unwrapped(p.stdout), "keys of other types not yet 1 0 at the end")
	fits(t, p.stdout)
	keys := []string{"-keys", "room:[0-9]*=room"}
	r := s.try(t, "sweep", keys...)
	require.Equal(t, codeOK, r.code, r.stderr)
	assert.Contains(t, unwrapped(r.stdout), "that the stage does not move 40")
	require.Equal(t, codeOK, s.try(t, "advance", append(s.masters(), "-percent", "100")...).code)
	r = s.try(t, "sweep", append(keys, "-passes", passes)...)
	require.Equal(t, codeOK, r.code, r.stderr)
	assert.Contains(t, unwrapped(r.stdout), "moved 40")
	fits(t, r.stdout)
	r = s.try(t, "verify", keys...)
	require.Equal(t, codeOK, r.code, r.stderr)
	assert.Contains(t, unwrapped(r.stdout), "moved, equal to the marker's value 40")
	fits(t, r.stdout)

	r = s.try(t, "sweep", "-json", "-passes", passes)
	assert.Equal(t, codeDiffers, r.code, "a set stays: %s", r.stderr)
	var pass operate.Pass
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &pass))
	assert.Equal(t, 1, pass.Moved)
	assert.Equal(t, []string{"room:set"}, pass.OtherType.Names)
	all, err := (&cutoverFlags{passes: passes}).records("status")
	require.NoError(t, err)
	assert.Len(t, all, 2)

	require.NoError(t, old.Del(t.Context(), "room:set").Err())
	require.NoError(t, old.Set(t.Context(), "room:7", "blind", 0).Err())
	r = s.try(t, "verify")
	assert.Equal(t, codeDiffers, r.code)
	assert.Contains(t, unwrapped(r.stdout), "two homes 1 room:7")
}

// A sweep was killed between its seals and its fills. The way back by the runbook ends with a verify that finds every key
// at home, and says so beforehand if it is not. Afterwards programs without cutover read and write every key.
func TestCutoverGivesUp(t *testing.T) {
	s := newSides(t)
	s.fill(t, 40)
	s.copying(t, "100")
	heal := s.proxies[1].Inject(proxytest.Fault{Times: -1, Action: proxytest.DropRequest, Match: func(args []string) bool {
		return len(args) > 4 && args[4] == "fill"
	}})
	require.Equal(t, codeError, s.try(t, "sweep").code)
	heal()
	require.Equal(t, codeOK, s.try(t, "reverse").code)
	s.beat(2)
	r := s.try(t, "verify", s.masters()...)
	assert.Equal(t, codeDiffers, r.code, r.stdout)
	assert.Regexp(t, `Not every key is in the old store: \d+ keys moved or in transit; sweep again`, unwrapped(r.stdout))
	r = s.try(t, "sweep", s.masters()...)
	require.Equal(t, codeOK, r.code, r.stderr)
	assert.Contains(t, unwrapped(r.stdout), "This pass moved keys: sweep again until a pass moves none, then verify")
	fits(t, r.stdout)
	assert.Equal(t, codeDiffers, s.try(t, "verify").code, "the new store was not looked at")
	r = s.try(t, "verify", s.masters()...)
	assert.Equal(t, codeOK, r.code, r.stdout)
	assert.Contains(t, r.stdout, "Every key is in the old store")
	fits(t, r.stdout)
	r = s.try(t, "sweep", s.masters()...)
	assert.Contains(t, unwrapped(r.stdout), "moved 0")
	assert.NotContains(t, r.stdout, "This pass moved")
	for i := range 40 {
		got, err := s.servers[0].Get(fmt.Sprint("room:", i))
		require.NoError(t, err, "one sweep moves each key")
		assert.Equal(t, "v", got)
	}
	s.servers[1].FlushAll()
	r = s.try(t, "advance", append(s.masters(), "-percent", "100")...)
	require.Equal(t, codeOK, r.code, "once more, to an empty new store: %s%s", r.stdout, r.stderr)
	r = s.try(t, "sweep", s.masters()...)
	assert.Contains(t, unwrapped(r.stdout), "moved 40")
	assert.NotContains(t, r.stdout, "Every key is in the old store")
}

// A key of the new store without a marker shows only in a scan of that store.
func TestCutoverVerifiesNewMasters(t *testing.T) {
	s := newSides(t)
	p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	s.flags[len(s.flags)-1] = p.Addr()
	rdb := redis.NewClient(p.Options())
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	require.NoError(t, rdb.Set(t.Context(), "room:7", "v", 0).Err())
	assert.Equal(t, codeOK, s.try(t, "verify").code)
	r := s.try(t, "verify", "-new-masters", p.Addr())
	assert.Equal(t, codeDiffers, r.code, r.stderr)
	assert.Contains(t, unwrapped(r.stdout), "no marker in the old store 1 room:7")
}

func TestCutoverWithoutAStore(t *testing.T) {
	s := newSides(t)
	s.copying(t, "5")
	s.proxies[1].Down(0)
	r := s.try(t, "freeze", "-timeout", "5s")
	assert.Equal(t, codeError, r.code)
	assert.Contains(t, unwrapped(r.stderr), "in force, but not in the new store; publish it again")
	assert.NotContains(t, r.stdout, "done: ")
	assert.Equal(t, codeError, s.try(t, "status").code)
	s.proxies[1].Up(0)
	assert.Equal(t, codeOK, s.try(t, "freeze").code)
}

// freeze works while the old store is loading its data, and while no heartbeat can be read. Repeated, it needs no new
// epoch.
func TestCutoverFreezesWhileTheOldStoreIsLoading(t *testing.T) {
	s := newSides(t)
	s.copying(t, "5")
	loaded := s.loading()
	for range 2 {
		r := s.try(t, "freeze")
		assert.Equal(t, codeError, r.code)
		assert.Contains(t, unwrapped(r.stderr), "stage copying 5 %, frozen is published with epoch 101 in the new store, and in force, "+
			"but not in the old store; publish it again")
		assert.Contains(t, unwrapped(r.stderr), "-old: LOADING")
		assert.NotContains(t, r.stdout, "done: write")
	}
	for _, args := range [][]string{{"freeze", "-off"}, {"reverse"}} {
		r := s.try(t, args[0], args[1:]...)
		assert.Equal(t, codeError, r.code)
		assert.Contains(t, unwrapped(r.stderr), "the stage was not published")
	}
	loaded()
	r := s.try(t, "freeze")
	assert.Equal(t, codeOK, r.code, r.stderr)
	assert.Contains(t, unwrapped(r.stdout), "done: write stage copying 5 %, frozen with epoch 101 into the old store")
	assert.NotContains(t, r.stdout, "into the new store")

	s.servers[0].Del("~cutover:{desk}:census")
	require.NoError(t, s.servers[0].Set("~cutover:{desk}:census", "no hash"))
	r = s.try(t, "freeze", "-off")
	assert.Equal(t, codeOK, r.code, r.stderr)
	assert.Equal(t, codeOK, s.try(t, "reverse").code)
	assert.Equal(t, codeError, s.try(t, "advance", "-percent", "9").code)
}

// A repeated command publishes nothing, or only into the store that lacks the stage, with the same epoch: the
// recorded passes still count. A command that voids them says so.
func TestCutoverRepeatsACommand(t *testing.T) {
	s := newSides(t)
	s.copying(t, "100")
	const voids = "A new epoch voids the sweeps and verifies of epoch 1: repeat them before complete."
	again := append(s.masters(), "-percent", "100")
	for want, lose := range map[string]func(){
		"already at copying 100 %, epoch 1, in both stores: nothing to do": func() {},
		"done: write stage copying 100 % with epoch 1 into the old store":  func() { s.servers[0].Del("~cutover:{desk}") },
		"done: write stage copying 100 % with epoch 1 into the new store":  func() { s.servers[1].Del("~cutover:{desk}") },
	} {
		s.beat(0) // a process has not seen the stage
		lose()
		r := s.try(t, "advance", again...)
		assert.Equal(t, codeOK, r.code, r.stdout)
		assert.Contains(t, unwrapped(r.stdout), want)
		assert.Regexp(t, "^(done|already)", want)
		assert.LessOrEqual(t, strings.Count(r.stdout, "done: "), 1)
		assert.NotContains(t, r.stdout, "voids")
		fits(t, r.stdout)
	}
	r := s.try(t, "freeze", "-dry-run")
	assert.Contains(t, unwrapped(r.stdout), voids)
	r = s.try(t, "freeze")
	assert.Contains(t, unwrapped(r.stdout), voids)
	fits(t, r.stdout)
	for _, args := range [][]string{{"freeze"}, {"freeze", "-off"}, {"freeze", "-off"}} {
		r = s.try(t, args[0], args[1:]...)
		assert.Equal(t, codeOK, r.code, r.stderr)
		assert.NotContains(t, r.stdout, "voids")
	}
	present, err := cutover.Current(t.Context(), "desk", s.stores[0], s.stores[1])
	require.NoError(t, err)
	assert.EqualValues(t, 3, present.Epoch)
}

// A way back from a frozen stage moves no key, and says so.
func TestCutoverReversesAFrozenStage(t *testing.T) {
	s := newSides(t)
	s.fill(t, 3)
	s.copying(t, "100")
	require.Equal(t, codeOK, s.try(t, "sweep").code)
	assert.NotContains(t, s.try(t, "freeze").stdout, "stays frozen")
	r := s.try(t, "reverse")
	assert.Contains(t, r.stdout, "The stage stays frozen: no key moves before freeze -off.")
	require.Equal(t, codeOK, s.try(t, "sweep").code)
	r = s.try(t, "verify", s.masters()...)
	assert.Equal(t, codeDiffers, r.code)
	assert.Contains(t, unwrapped(r.stdout), "the stage is frozen: freeze -off, sweep, and verify again")
	fits(t, r.stdout)
	assert.NotContains(t, s.try(t, "freeze", "-off").stdout, "stays frozen")
	require.Equal(t, codeOK, s.try(t, "sweep").code)
	assert.Equal(t, codeOK, s.try(t, "verify", s.masters()...).code)
}

func TestCutoverUsage(t *testing.T) {
	at := []string{"-name", "desk", "-old", "localhost:1", "-new", "localhost:2"}
	for want, args := range map[string][]string{
		"ACTION is missing":         at,
		"not \"stop\"":              append([]string{"stop"}, at...),
		"-name, -old and -new":      {"status", "-name", "desk"},
		"-to is follow":             append([]string{"advance", "-to", "drained"}, at...),
		"are for advance":           append([]string{"freeze", "-percent", "5"}, at...),
		"are for plan, advance":     append([]string{"freeze", "-keys", "a*"}, at...),
		"-batch, -rate, ":           append([]string{"freeze", "-rate", "9"}, at...),
		"-foreign: the pattern":     append([]string{"sweep", "-foreign", "[a"}, at...),
		"is malformed":              append([]string{"sweep", "-keys", "[a=b"}, at...),
		"verify writes nothing":     append([]string{"sweep", "-dry-run"}, at...),
		"-new-masters is for":       append([]string{"status", "-new-masters", "localhost:3"}, at...),
		"-old-masters is for":       append([]string{"freeze", "-old-masters", "localhost:3"}, at...),
		"-old-masters: ":            append([]string{"status", "-old-masters", "localhost:3,redis://bob@hunter2"}, at...),
		"-new: several addresses":   {"status", "-name", "desk", "-old", "localhost:1", "-new", "localhost:2,redis://localhost:3/1"},
		"cannot be sentinels":       {"status", "-name", "desk", "-old", "localhost:1,sentinel://localhost:3/m", "-new", "localhost:2"},
		"-monitor is for plan":      append([]string{"verify", "-monitor", "1s"}, at...),
		"-monitor-force is for":     append([]string{"plan", "-monitor-force"}, at...),
		"must not be negative":      append([]string{"sweep", "-max-latency", "-1s"}, at...),
		"-max-outage must not be":   append([]string{"sweep", "-max-outage", "-1s"}, at...),
		"-off is for freeze":        append([]string{"reverse", "-off"}, at...),
		"-http is for status":       append([]string{"advance", "-http", ":0"}, at...),
		"leave -json out":           append([]string{"status", "-http", ":0", "-json"}, at...),
		"-http: listen":             append([]string{"status", "-http", "256.0.0.1:0"}, at...),
		"-timeout must be":          append([]string{"status", "-timeout", "0"}, at...),
		"-passes testdata/none":     append([]string{"advance", "-passes", "testdata/none"}, at...),
		"-new: ":                    {"status", "-name", "desk", "-old", "localhost:1", "-new", "redis://bob@hunter2"},
		"connection refused":        append([]string{"status"}, at...),
		"-password-env: the enviro": append([]string{"status", "-password-env", "UNWATCH_TEST_UNSET"}, at...),
	} {
		r := try(t.Context(), append([]string{"cutover"}, args...)...)
		assert.Equal(t, codeError, r.code, args)
		assert.Contains(t, unwrapped(r.stderr), want)
		assert.NotContains(t, r.stderr, "hunter2")
		if want == "connection refused" {
			assert.Contains(t, unwrapped(r.stdout), "Verdict: a store is down: the old one: ")
			continue
		}
		assert.Empty(t, r.stdout)
	}
}
