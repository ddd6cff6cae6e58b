package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/cutoverstatus"
	"github.com/unwatch/unwatch/internal/testing/servers"
)

// The status shows what sweep and verify have recorded, and the keys as they are now.
func TestCutoverStatus(t *testing.T) {
	s := newSides(t)
	old := s.fill(t, 40)
	require.NoError(t, old.SAdd(t.Context(), "queue", "v").Err())
	passes := filepath.Join(t.TempDir(), "passes.json")
	s.beat(0)
	status := func(args ...string) string {
		t.Helper()
		r := s.try(t, "status", args...)
		fits(t, r.stdout)
		return unwrapped(r.stdout)
	}
	assert.Contains(t, status(), "in the old store 40 97.6 % cannot move 1 2.4 %")
	require.Equal(t, codeOK, s.try(t, "advance", append(s.masters(), "-percent", "100")...).code)
	s.beat(1)
	text := status()
	assert.Contains(t, text, "not yet: 40 keys to move: by a sweep, or when a process updates them not yet: no sweep runs")
	assert.Contains(t, text, "Sweep: none runs, and none was recorded with -passes")
	assert.Contains(t, text, "Way back: reverse, then sweep process")

	require.Equal(t, codeDiffers, s.try(t, "sweep", "-passes", passes).code, "a set stays")
	require.Equal(t, codeOK, s.try(t, "verify", "-passes", passes).code)
	text = status("-passes", passes)
	assert.Contains(t, text, "in the new store 40 97.6 % in transit 0 0 % in the old store 0 0 % cannot move 1 2.4 %")
	assert.Contains(t, text, "Keys: 41 keys looked at; none of them in transit")
	assert.Regexp(t, `Sweep: none runs; the last one ended \S+ (now|.*ago) after [^:]+: \d+ names visited, 40 keys moved`, text)
	assert.Regexp(t, `Verify: ended .* after [^:]+: 41 keys, 0 wrong, 0 in transit`, text)
	assert.Regexp(t, `Way back: reverse, then sweep; about .* for 40 keys`, text)
	assert.Contains(t, text, "passes not enough data 1 at epoch 1 2 in a row", "the verify is no pass")
	assert.Contains(t, status("-keys", "room:*"), "cannot move 0 0 %")

	require.NoError(t, old.Set(t.Context(), "room:7", "blind", 0).Err())
	assert.Contains(t, status(), "WRONG 1 2.4 %")
	require.NoError(t, old.Del(t.Context(), "room:7").Err())
}

// If one store does not answer, the status shows the stage in the other one, and what is missing.
func TestCutoverStatusWithoutAStore(t *testing.T) {
	s := newSides(t)
	s.fill(t, 3)
	s.copying(t, "5")
	for i, want := range []string{"heartbeats not enough data cannot be read", "processes ready 1 of 1"} {
		s.proxies[i].Down(0)
		r := s.try(t, "status")
		assert.Equal(t, codeError, r.code)
		text := unwrapped(r.stdout)
		assert.Contains(t, text, "Cut-over desk: copying 5 %, epoch 1")
		assert.Contains(t, text, want)
		assert.Contains(t, text, "Keys: unknown, and no verify was recorded with -passes: ")
		assert.Contains(t, unwrapped(r.stderr), []string{"-old: ", "-new: "}[i])
		s.proxies[i].Up(0)
	}
}

// A status names the store that has no stage document, and the step that writes it.
func TestCutoverStatusWithoutADocument(t *testing.T) {
	s := newSides(t)
	s.copying(t, "5")
	for i, side := range []string{"old", "new"} {
		s.servers[i].Del("~cutover:{desk}")
		text := unwrapped(s.try(t, "status").stdout)
		assert.True(t, strings.HasPrefix(text, "Verdict: WRONG: the "+side+" store has no stage document Do next: check -"+side+
			"; then repeat the last step that published a stage"), text)
		require.Equal(t, codeOK, s.try(t, "advance", append(s.masters(), "-percent", "5")...).code)
		assert.True(t, strings.HasPrefix(s.try(t, "status").stdout, "Verdict: fine\nDo next: watch the service (step 4)"))
	}
}

// A status shows the sweep that another command runs. It is no process of the service.
func TestCutoverStatusShowsARunningSweep(t *testing.T) {
	s := newSides(t)
	s.fill(t, 200)
	s.copying(t, "100")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan ran, 1)
	go func() {
		ended <- try(ctx, append(append([]string{"cutover", "sweep"}, s.flags...), "-rate", "10", "-batch", "1")...)
	}()
	var now cutoverstatus.Status
	for now.Sweep == nil {
		require.Empty(t, ended)
		require.NoError(t, json.Unmarshal([]byte(s.try(t, "status", "-json", "-keys", "none").stdout), &now))
	}
	cancel()
	<-ended
	assert.NotEmpty(t, now.Sweep.Process)
	assert.Len(t, now.Processes, 1)
	now = cutoverstatus.Status{}
	require.NoError(t, json.Unmarshal([]byte(s.try(t, "status", "-json", "-keys", "none").stdout), &now))
	assert.Nil(t, now.Sweep, "it has ended")
}

// A change of the old store's replication ID stops new moves, also while the new store is down or the old one is
// loading its data. Later, both have the freeze. freeze -off permits moves until the next change. The first change comes
// before any stage is published.
func TestCutoverFreezesOnFailover(t *testing.T) {
	s := newSides(t)
	ctx, stop := context.WithCancel(t.Context())
	var id atomic.Int64
	looks := make(chan int64) // the answers to the command
	s.servers[0].Server().SetPreHook(func(c *server.Peer, cmd string, args ...string) bool {
		if cmd != "INFO" || len(args) != 1 || args[0] != "replication" {
			return false
		}
		now := id.Load()
		c.WriteBulk(fmt.Sprintf("# Replication\r\nrole:master\r\nmaster_replid:%d\r\nmaster_replid2:0\r\n", now))
		select {
		case looks <- now:
		case <-ctx.Done():
		}
		return true
	})
	ended := make(chan ran, 1)
	go func() {
		ended <- try(ctx, append(append([]string{"cutover", "status"}, s.flags...), "-http", "127.0.0.1:0", "-freeze-on-failover")...)
	}()
	frozen := func() bool {
		stage, _ := cutover.Current(t.Context(), "desk", s.stores[0], s.stores[1])
		return stage.Freeze
	}
	const frozenInBoth = "true true"
	both := func() string {
		old, _ := cutover.Current(t.Context(), "desk", s.stores[0], s.stores[0])
		new, _ := cutover.Current(t.Context(), "desk", s.stores[1], s.stores[1])
		return fmt.Sprint(old.Freeze, new.Freeze)
	}
	for change := range int64(3) {
		if change == 1 {
			s.beat(2)
			require.Equal(t, codeOK, s.try(t, "advance", append(s.masters(), "-percent", "5")...).code)
		}
		require.Equal(t, change, <-looks)
		require.Equal(t, change, <-looks)
		require.False(t, frozen())
		back := func() {}
		switch change { // without a stage, both stores must answer
		case 1:
			s.proxies[1].Down(0)
			back = func() { s.proxies[1].Up(0) }
		case 2:
			back = s.loading()
		}
		id.Store(change + 1)
		for <-looks == change {
		}
		<-looks // it has acted on the change
		assert.True(t, frozen())
		back()
		for <-looks; both() != frozenInBoth; {
			<-looks
		}
		require.Equal(t, codeOK, s.try(t, "freeze", "-off").code)
		<-looks
		<-looks
		assert.False(t, frozen(), "it does not freeze again")
	}
	stop()
	assert.Contains(t, unwrapped((<-ended).stdout),
		"New moves are stopped: the replication ID of the old store has changed, by a failover or a restart. Run verify, then freeze -off.")
}

// A sweep moves names in the order of SCAN: each quarter of them has the same share of a sample.
func TestRandomNames(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: servers.Redis(t).Addr})
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	const n = 20_000
	pipe := rdb.Pipeline()
	for i := range n {
		pipe.Set(t.Context(), fmt.Sprint("room:", i), "v", 0)
	}
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)
	order := map[string]int{}
	for all := rdb.Scan(t.Context(), 0, "", 1000).Iterator(); all.Next(t.Context()); {
		if _, twice := order[all.Val()]; !twice {
			order[all.Val()] = len(order)
		}
	}
	require.Len(t, order, n)
	shares := func(page *redis.ScanCmd) (of [4]float64) {
		names, _ := page.Val()
		require.GreaterOrEqual(t, len(names), 1000)
		for _, name := range names {
			of[order[name]*4/n] += 1 / float64(len(names))
		}
		return of
	}
	page := randomNames{rdb, sampleSize}.Scan(t.Context(), 0, "", 256)
	_, cursor := page.Val()
	assert.Zero(t, cursor, "there is one page")
	for _, share := range shares(page) {
		assert.InDelta(t, 1.0/4, share, 0.08)
	}
	assert.InDelta(t, 1, shares(rdb.Scan(t.Context(), 0, "", 1000))[0], 0.01, "control: the first names of the store")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Error(t, randomNames{rdb, sampleSize}.Scan(ctx, 0, "", 256).Err())
}

func TestCutoverPage(t *testing.T) {
	s := newSides(t)
	s.fill(t, 3)
	s.beat(0)
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	code := make(chan int)
	go func() {
		code <- run(ctx, append([]string{"cutover", "status", "-http", "127.0.0.1:0"}, s.flags...), in, io.Discard)
	}()
	line := make([]byte, 200)
	n, err := out.Read(line)
	require.NoError(t, err)
	address := regexp.MustCompile(`http://\S+`).FindString(string(line[:n]))
	get := func(query string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+query, nil)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		assert.Equal(t, 200, res.StatusCode)
		return string(text)
	}
	assert.Contains(t, get(""), "<h1>desk</h1>")
	var status cutoverstatus.Status
	require.NoError(t, json.NewDecoder(strings.NewReader(get("?format=json"))).Decode(&status))
	assert.Equal(t, cutover.Follow, status.Stage.Phase)
	assert.EqualValues(t, 3, status.Keys.Old)
	assert.Contains(t, get("metrics"), "\ncutover_keys{state=\"old\"} 3\n")
	assert.Contains(t, get("metrics"), "\ncutover_store_down{store=\"new\"} 0\n")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	req.Host = "evil.example"
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	assert.Equal(t, http.StatusForbidden, res.StatusCode, "DNS rebinding")
	cancel()
	assert.Equal(t, codeOK, <-code)
}

// A page on all addresses says so, and how to limit it.
func TestListening(t *testing.T) {
	for _, of := range []struct {
		ip         net.IP
		want, hint string
	}{
		{net.IPv4(127, 0, 0, 1), "http://127.0.0.1:80/ shows", ""},
		{net.IPv6loopback, "http://[::1]:80/ shows", ""},
		{net.IPv4(10, 1, 2, 3), "http://10.1.2.3:80/ shows", ""},
		{net.IPv4zero, "http://localhost:80/ shows", "all addresses of this machine (0.0.0.0:80), without a password"},
		{net.IPv6zero, "http://localhost:80/ shows", "all addresses of this machine ([::]:80), without a password"},
		{nil, "http://localhost:80/ shows", "-http 127.0.0.1:80 listens on this machine only"},
	} {
		text := listening(&net.TCPAddr{IP: of.ip, Port: 80})
		fits(t, text)
		assert.Contains(t, text, of.want)
		assert.Contains(t, unwrapped(text), of.hint)
		assert.Equal(t, of.hint != "", strings.Contains(text, "all addresses"))
	}
}
