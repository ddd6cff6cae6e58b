package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/live"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// realSides are two servers. A client of the old one repeats the command until the test ends.
func realSides(t *testing.T, command ...any) (old, new *redis.Client, plan func(args ...string) ran) {
	t.Helper()
	addrs := [2]string{servers.Redis(t).Addr, servers.Redis(t).Addr}
	var clients [2]*redis.Client
	for i, addr := range addrs {
		clients[i] = redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { require.NoError(t, clients[i].Close()) })
	}
	billing := redis.NewClient(&redis.Options{Addr: addrs[0], ClientName: "billing"})
	ctx, cancel := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	writing.Go(func() {
		for ctx.Err() == nil {
			_ = billing.Do(ctx, command...).Err()
		}
	})
	t.Cleanup(func() {
		cancel()
		writing.Wait()
		require.NoError(t, billing.Close())
	})
	return clients[0], clients[1], func(args ...string) ran {
		at := []string{"cutover", "plan", "-name", "desk", "-old", addrs[0], "-new", addrs[1], "-new-masters", addrs[1]}
		return try(t.Context(), append(at, args...)...)
	}
}

func TestCutoverPlanNamesBlindWriters(t *testing.T) {
	old, _, plan := realSides(t, "set", "room:7", "v")
	r := plan("-monitor", "500ms", "-monitor-force")
	assert.Equal(t, codeDiffers, r.code, r.stdout+r.stderr)
	assert.Contains(t, unwrapped(r.stdout), "blind writers: stop or fence them: SET by billing 127.0.0.1 of room:7")
	fits(t, r.stdout)
	addr := old.Options().Addr
	r = plan("-monitor", "500ms", "-monitor-force", "-old-masters", addr)
	assert.Equal(t, codeDiffers, r.code, r.stdout+r.stderr)
	assert.Contains(t, unwrapped(r.stdout), "blind writers, "+addr+": stop or fence them: SET by billing 127.0.0.1 of room:7")
	fits(t, r.stdout)
	assert.NotContains(t, plan().stdout, "blind writers", "MONITOR is opt-in")
}

// A plan that could not look for blind writers says why, and is not that of an idle server.
func TestCutoverPlanSaysWhyMonitorWasNotSent(t *testing.T) {
	why := "redis:6379 gets 5001 commands a second, so MONITOR was not sent"
	unknown := operate.Gate{Name: "blind writers", Need: "none", State: operate.GateUnknown}
	unknown.Have, unknown.Do = "not looked at", why+"; -monitor-force sends it"
	assert.Equal(t, unknown, blindGate(&live.Report{Incomplete: []string{"another", why}}, nil))
	unknown.Have, unknown.Do = "0 in 0 lines", "run plan under normal load, and see migrate-check live -monitor"
	assert.Equal(t, unknown, blindGate(&live.Report{}, nil))
	unknown.Have, unknown.Do = "0 in 9 lines", "MONITOR ended before its time: too many; -monitor-force goes on"
	ended := &live.Report{Monitored: []live.Monitored{{Lines: 9, Ended: "too many", Early: true}}}
	assert.Equal(t, unknown, blindGate(ended, nil))
	assert.Equal(t, operate.GateClosed, blindGate(ended, []blindWriter{{}}).State)
}

// The plan shows sizes, versions and clocks. A client that only reads is no blind writer.
func TestCutoverPlanShowsServersAndKeys(t *testing.T) {
	old, _, plan := realSides(t, "get", "room:7")
	require.NoError(t, old.Set(t.Context(), "room:7", "v", 0).Err())
	require.NoError(t, old.Set(t.Context(), "room:8", strings.Repeat("v", 100_000), 0).Err())
	require.NoError(t, old.Set(t.Context(), "other", strings.Repeat("v", 200_000), 0).Err())
	r := plan("-monitor", "500ms", "-monitor-force", "-keys", "room:*=room")
	require.Equal(t, codeOK, r.code, r.stdout+r.stderr)
	assert.Regexp(t, `blind writers ready 0 in [\d,]+ lines none`, unwrapped(r.stdout))
	assert.Regexp(t, `old \d+\.\d+\.\d+ [\d,]+ – -?\d+(ms|s)`, unwrapped(r.stdout))
	assert.Regexp(t, `2 keys of 1\d\d,\d{3} bytes .*; the largest: room:8 \(1\d\d,\d{3}\) room:7 \(\d+\)`, unwrapped(r.stdout))
	fits(t, r.stdout)
	var p cutoverPlan
	require.NoError(t, json.Unmarshal([]byte(plan("-json").stdout), &p))
	assert.Len(t, p.Largest, 3)
	assert.Equal(t, "other", p.Largest[0].Name)
	require.NoError(t, old.ConfigSet(t.Context(), "maxmemory", "1").Err())
	r = plan()
	assert.Equal(t, codeDiffers, r.code)
	assert.Contains(t, unwrapped(r.stdout), "memory with markers: raise maxmemory")
}

// The plan, the live check and the probe warn of servers that evict locks.
func TestEvictedLocksAreWarnedOf(t *testing.T) {
	old, _, plan := realSides(t, "get", "room:7")
	const evicts = "evicts locks and values with an expiry at maxmemory"
	commands := map[string]func() ran{
		"plan":  func() ran { return plan() },
		"live":  func() ran { return try(t.Context(), "live", old.Options().Addr, "-for", "1ms") },
		"probe": func() ran { return try(t.Context(), "probe", old.Options().Addr) },
	}
	for name, run := range commands {
		assert.NotContains(t, unwrapped(run().stdout), evicts, name)
	}
	require.NoError(t, old.ConfigSet(t.Context(), "maxmemory-policy", "volatile-ttl").Err())
	for name, run := range commands {
		r := run()
		assert.Contains(t, unwrapped(r.stdout), `maxmemory-policy "volatile-ttl" `+evicts, name+r.stderr)
		fits(t, r.stdout)
	}
}

// A process at copying would serve a key that only the new store has, and a process at follow would not.
func TestCutoverPlanRefusesUnmarkedKeys(t *testing.T) {
	_, new, plan := realSides(t, "get", "room:7")
	require.NoError(t, new.Set(t.Context(), "room:9", "v", 0).Err())
	r := plan()
	assert.Equal(t, codeDiffers, r.code, r.stderr)
	assert.Contains(t, unwrapped(r.stdout), "room:9")
	require.NoError(t, new.Del(t.Context(), "room:9").Err())
	assert.Equal(t, codeOK, plan().code)
}

// Behind a proxy that hides its servers, -new-masters tell every condition but that of replicas, of which plan warns.
func TestCutoverPlanIsReadyBehindAProxy(t *testing.T) {
	old, new, _ := realSides(t, "get", "room:7")
	proxy, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Codis32(), Backends: []string{new.Options().Addr}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, proxy.Close()) })
	at := []string{"cutover", "plan", "-name", "desk", "-old", old.Options().Addr, "-new", proxy.Addr()}
	masters := []string{"-new-masters", new.Options().Addr, "-monitor", "500ms", "-monitor-force"}
	r := try(t.Context(), append(at, masters...)...)
	assert.Equal(t, codeOK, r.code, r.stdout+r.stderr)
	text := unwrapped(r.stdout)
	assert.Contains(t, text, "eviction, new ready noeviction")
	assert.Contains(t, text, "replicas, new ready a proxy, no WAIT")
	assert.Contains(t, text, "warning, replicas, new: a failover of a server behind the proxy can forget a move")
	assert.Regexp(t, regexp.QuoteMeta(new.Options().Addr)+` \d+\.\d+\.\d+ [\d,]+ – -?\d+(ms|s)`, text)
	fits(t, r.stdout)

	r = try(t.Context(), append(append(at, masters...), "-new-replicas", "1")...)
	assert.Equal(t, codeDiffers, r.code)
	assert.Contains(t, unwrapped(r.stdout), "set Config.NewReplicas to 0 in every process")

	require.NoError(t, new.Do(t.Context(), "acl", "setuser", "default", "-config").Err())
	r = try(t.Context(), append(at, masters...)...)
	assert.Equal(t, codeUnknown, r.code)
	assert.Contains(t, unwrapped(r.stdout), "eviction, new: read maxmemory-policy on each server: an evicted marker leaves two homes: CONFIG GET: NOPERM")
}

// JSON has every name of a list. The text has the first ten, each whole, and counts the others; a record has ten.
func TestCutoverListsAreWhole(t *testing.T) {
	old, new, plan := realSides(t, "get", "room:7")
	long := "room:" + strings.Repeat("0123456789", 30)
	names := []string{long}
	require.NoError(t, new.Set(t.Context(), long, "v", 0).Err())
	for i := range 38 {
		names = append(names, fmt.Sprintf("room:%03d", i))
		require.NoError(t, new.Set(t.Context(), names[i+1], "v", 0).Err())
	}
	passes := filepath.Join(t.TempDir(), "passes.json")
	verify := func(args ...string) ran {
		at := []string{"cutover", "verify", "-name", "desk", "-old", old.Options().Addr, "-new", new.Options().Addr}
		return try(t.Context(), append(append(at, "-new-masters", new.Options().Addr, "-passes", passes), args...)...)
	}
	var report operate.Report
	require.NoError(t, json.Unmarshal([]byte(verify("-json").stdout), &report))
	assert.ElementsMatch(t, names, report.Unmarked.Names)
	var p cutoverPlan
	require.NoError(t, json.Unmarshal([]byte(plan("-json").stdout), &p))
	at := slices.IndexFunc(p.Gates, func(g operate.Gate) bool { return g.Name == "own keys, new" })
	assert.ElementsMatch(t, names, p.Gates[at].Names)
	records, err := (&cutoverFlags{passes: passes}).records("status")
	require.NoError(t, err)
	assert.Equal(t, 39, records[0].Verify.Unmarked.Count)
	assert.Len(t, records[0].Verify.Unmarked.Names, 10)

	require.NoError(t, new.Del(t.Context(), names[12:]...).Err())
	for _, text := range []string{verify().stdout, plan().stdout} {
		var shown []string
		for line := range strings.Lines(text) {
			if name := strings.TrimSpace(line); slices.Contains(names, name) {
				shown = append(shown, name)
			}
		}
		assert.Len(t, shown, 10)
		assert.Contains(t, text, "\n    and 2 more: -json names them\n")
	}
	require.NoError(t, new.Del(t.Context(), names[1:]...).Err())
	for _, text := range []string{verify().stdout, plan().stdout} {
		assert.Contains(t, text, "\n    "+long+"\n")
	}
}

// Keys that do not move forbid Complete, and not the first move. No condition that is not met is ready.
func TestCutoverPlanTellsOfKeysThatStay(t *testing.T) {
	old, _, plan := realSides(t, "get", "room:7")
	states := func(args ...string) map[string]operate.GateState {
		r := plan(append(args, "-json")...)
		assert.Equal(t, codeDiffers, r.code, r.stderr)
		var p cutoverPlan
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &p))
		states := map[string]operate.GateState{}
		for _, g := range p.Gates {
			states[g.Name] = g.State
			assert.Equal(t, g.State != operate.GateOpen, g.Do != "", g.Name)
		}
		return states
	}
	require.NoError(t, old.SAdd(t.Context(), "room:set", "v").Err())
	assert.Equal(t, operate.GateLater, states()["keys of other types"])
	require.NoError(t, old.Del(t.Context(), "room:set").Err())
	require.NoError(t, old.Set(t.Context(), "room:8", "more than 8 bytes", 0).Err())
	assert.Equal(t, operate.GateLater, states("-max-seal", "8")["keys too large"])
	assert.Equal(t, codeOK, plan().code)
}

// Every part of an address has an effect, or is refused.
func TestAddressesNameDatabases(t *testing.T) {
	old, new, _ := realSides(t, "get", "room:7")
	in3 := redis.NewClient(&redis.Options{Addr: old.Options().Addr, DB: 3})
	t.Cleanup(func() { require.NoError(t, in3.Close()) })
	require.NoError(t, in3.Set(t.Context(), "room:1", "v", 0).Err())
	const census = "~cutover:{desk}:census"
	require.NoError(t, in3.HSet(t.Context(), census, "desk-0:1:abcd", `{"epoch":0,"at":"2026-01-02T03:04:05Z"}`).Err())
	run := func(old string, args ...string) ran {
		at := []string{"-name", "desk", "-old", old, "-new", new.Options().Addr, "-new-masters", new.Options().Addr}
		return try(t.Context(), append(append([]string{"cutover"}, args...), at...)...)
	}
	url := "redis://" + old.Options().Addr
	for _, database := range []string{"/3", "?db=3"} {
		r := run(url+database, "plan")
		assert.Equal(t, codeOK, r.code, r.stdout+r.stderr)
		assert.Contains(t, unwrapped(r.stdout), "2 keys of", "the census is one of them")
	}
	r := run(url+"/3", "advance", "-percent", "100")
	assert.Equal(t, codeOK, r.code, r.stdout+r.stderr)
	assert.EqualValues(t, 1, in3.Exists(t.Context(), "~cutover:{desk}").Val())
	assert.Zero(t, old.DBSize(t.Context()).Val(), "nothing is written into database 0")
	for part, want := range map[string]string{
		"/three": "the database of a URL is one number", "/3?protocol=3": "a URL has no settings", "#3": "a URL has no settings",
	} {
		r := run(url+part, "plan")
		assert.Equal(t, codeError, r.code)
		assert.Contains(t, unwrapped(r.stderr), "-old: "+want)
		r = try(t.Context(), "live", url+part)
		assert.Equal(t, codeError, r.code)
		assert.Contains(t, unwrapped(r.stderr), "ADDRESS 1: "+want)
	}
	r = try(t.Context(), "live", url+"/3")
	assert.Equal(t, codeError, r.code)
	assert.Contains(t, unwrapped(r.stderr), "ADDRESS 1: live counts the commands of a whole server")
}

// A proxy in front of the old server is no new store: to delete a key "in the new store" would delete its only copy.
func TestCutoverPlanTellsStoresApart(t *testing.T) {
	s := newSides(t)
	s.fill(t, 1)
	shared, err := proxytest.Start(proxytest.Config{
		Profile: proxycompat.Codis32(), Backends: []string{s.servers[1].Addr(), s.servers[0].Addr()},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, shared.Close()) })
	old, new := s.servers[0].Addr(), s.servers[1].Addr()
	s.beat(0)
	for name, tc := range map[string]struct {
		new, masters string
		want         string
	}{
		"the old server":                    {old, old, "one store .*two stores: 64 of 64 keys"},
		"the old server behind a proxy":     {s.proxies[0].Addr(), old, "one store .*two stores: 64 of 64 keys"},
		"one of the servers of the proxy":   {shared.Addr(), old + "," + new, `one store .*two stores: \d+ of (64|128) keys`},
		"the old server as the only master": {s.proxies[1].Addr(), old, "a wrong master .*two stores: number 1 of"},
	} {
		t.Run(name, func(t *testing.T) {
			at := []string{"-name", "desk", "-old", old, "-new", tc.new, "-new-masters", tc.masters}
			for _, command := range [][]string{{"cutover", "plan"}, {"cutover", "advance", "-percent", "5"}} {
				r := try(t.Context(), append(command, at...)...)
				assert.Equal(t, codeDiffers, r.code, r.stderr)
				assert.Regexp(t, "two stores not ready "+tc.want, unwrapped(r.stdout))
				assert.NotRegexp(t, "two homes (not )?ready", unwrapped(r.stdout))
				assert.NotContains(t, unwrapped(r.stdout), "delete them")
				fits(t, r.stdout)
			}
			assert.True(t, s.servers[0].Exists("room:0"))
		})
	}
}

// No command is as fast as -max-latency here, so the gap between keys doubles.
func TestCutoverSweepSlowsDown(t *testing.T) {
	s := newSides(t)
	s.fill(t, 20)
	s.copying(t, "100")
	f := &cutoverFlags{passes: filepath.Join(t.TempDir(), "passes.json")}
	require.Equal(t, codeOK, s.try(t, "sweep", "-batch", "1", "-max-latency", "1ns", "-passes", f.passes).code)
	records, err := f.records("status")
	require.NoError(t, err)
	assert.Equal(t, 20, records[0].Moved)
	assert.Greater(t, records[0].Took, 500*time.Millisecond)
}
