package integration

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/live"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

// Package live interprets the counters, lists and logs of real servers.

// looked observes servers while load runs.
func looked(t *testing.T, addr live.Address, cfg live.Config, load func()) *live.Report {
	t.Helper()
	r, err := tryLook(t.Context(), addr, cfg, load)
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	t.Log("\n" + text.String())
	return r
}

// tryLook runs load within the window: after the first observation, and before the last.
func tryLook(ctx context.Context, addr live.Address, cfg live.Config, load func()) (*live.Report, error) {
	if cfg.For == 0 {
		cfg.For = 600 * time.Millisecond
	}
	cfg.Every = 100 * time.Millisecond
	cfg.Dial = recorded
	began := false
	cfg.Progress = func(live.Progress) {
		if !began && load != nil {
			load()
		}
		began = true
	}
	return live.Run(ctx, []live.Address{addr}, cfg)
}

// named returns a client with a name.
func named(t *testing.T, addr, name string) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr, ClientName: name})
	t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
	return rdb
}

func sightings(r *live.Report, command string) (uses int64, held int, from []string) {
	for _, f := range r.Findings {
		if f.Command != command || !f.Counts() {
			continue
		}
		uses, held = max(f.Uses(), f.Sampled), f.Held
		for _, seen := range f.From {
			from = append(from, seen.Name)
		}
	}
	return uses, held, from
}

func updates(t *testing.T, store rmw.Store, n int) {
	t.Helper()
	for range n {
		_, err := store.Update(t.Context(), rmw.Key{Name: "session"}, func(context.Context, rmw.Value) (rmw.Value, error) {
			return rmw.String(rand.Text()), nil // an unchanged value is not written
		})
		require.NoError(t, err)
	}
}

func TestLiveFindsTheLegacyPath(t *testing.T) {
	server := servers.Redis(t)
	desk, feed := named(t, server.Addr, "desk"), named(t, server.Addr, "feed")
	sub := feed.Subscribe(t.Context(), "events")
	defer sub.Close()
	_, err := sub.Receive(t.Context())
	require.NoError(t, err)
	worker := named(t, server.Addr, "worker")
	go worker.BLPop(context.WithoutCancel(t.Context()), time.Minute, "queue")
	require.Eventually(t, func() bool {
		info, err := feed.Info(t.Context(), "clients").Result()
		return err == nil && strings.Contains(info, "blocked_clients:1")
	}, 5*time.Second, 5*time.Millisecond)

	r := looked(t, live.Address{Host: server.Addr}, live.Config{Monitor: &live.MonitorConfig{}}, func() {
		updates(t, cas.New(desk, cas.Config{}), 20)
		require.NoError(t, desk.Publish(t.Context(), "events", "value-that-is-secret").Err())
		require.NoError(t, desk.SInter(t.Context(), "tag:1", "tag:2").Err())
		require.NoError(t, desk.SInter(t.Context(), "{tag}:1", "{tag}:2").Err())
		require.NoError(t, desk.Eval(t.Context(), "return redis.call('publish', KEYS[1], 'x')", []string{"events"}).Err())
	})
	assert.Equal(t, live.Findings, r.Verdict, r.Incomplete)
	for command, want := range map[string]int64{"WATCH": 20, "MULTI": 20, "EXEC": 20, "PUBLISH": 2, "SINTER": 1} {
		uses, _, from := sightings(r, command)
		assert.Equal(t, want, uses, command)
		assert.Contains(t, from, "desk", command)
	}
	_, held, from := sightings(r, "SUBSCRIBE")
	assert.Equal(t, 1, held, "it was there before")
	assert.Equal(t, []string{"feed"}, from)
	_, held, from = sightings(r, "BLPOP")
	assert.Equal(t, 1, held)
	assert.Equal(t, []string{"worker"}, from)
	var json strings.Builder
	require.NoError(t, r.WriteJSON(&json))
	assert.NotContains(t, json.String(), "secret")
	assert.Contains(t, json.String(), "tag:* tag:*")
	require.NoError(t, worker.RPush(t.Context(), "queue", "x").Err())
}

// Negative control of the test above: the new path has no findings.
func TestLiveOfTheNewPath(t *testing.T) {
	server := servers.Redis(t)
	rdb := redis.NewClient(proxycompat.Options(proxycompat.Codis32(), server.Addr))
	store := lockupdate.New(rdb, lockupdate.Config{})
	r := looked(t, live.Address{Host: server.Addr}, live.Config{Monitor: &live.MonitorConfig{}}, func() { updates(t, store, 20) })
	assert.NoError(t, store.Close())
	assert.NoError(t, rdb.Close())
	assert.Equal(t, live.Clean, r.Verdict, r.Incomplete)
	assert.Zero(t, r.Uses)
	assert.Greater(t, r.Commands, int64(40))
}

// An observation of an idle server counts nothing: it subtracts each of its own commands, which also shows
// that it writes nothing.
func TestLiveExcludesItself(t *testing.T) {
	server := servers.Redis(t)
	r := looked(t, live.Address{Host: server.Addr}, live.Config{Strict: true, Monitor: &live.MonitorConfig{}}, nil)
	assert.Equal(t, live.Clean, r.Verdict, r.Incomplete)
	assert.Zero(t, r.Commands)
	assert.Zero(t, r.Clients)
	looks := r.Servers[0].Looks - 1 + r.Servers[0].Lists - 1 // after the first of each
	assert.GreaterOrEqual(t, r.Own, int64(looks))
	info, err := client(t, server.Addr).Info(t.Context(), "persistence").Result()
	require.NoError(t, err)
	assert.Contains(t, info, "rdb_changes_since_last_save:0\r\n")
}

// A user with the documented rights gets a complete report and can do nothing else; the printed ACL line
// adds a missing right.
func TestLiveRights(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	admin := client(t, server.Addr)
	setUser := func(rules string) {
		words := []any{"acl", "setuser"}
		for _, word := range strings.Fields(rules) {
			words = append(words, word)
		}
		require.NoError(t, admin.Do(t.Context(), words...).Err())
	}
	watcher := live.Address{Host: server.Addr, Username: "watcher", Password: "hunter2"}
	setUser("watcher reset on >hunter2 " + live.Rights)
	r := looked(t, watcher, live.Config{Strict: true}, nil)
	assert.Equal(t, live.Clean, r.Verdict)
	assert.Empty(t, r.Unseen)
	assert.Zero(t, r.Commands)

	setUser("watcher reset on >hunter2 -@all +info")
	r = looked(t, watcher, live.Config{Strict: true}, nil)
	assert.Equal(t, live.Incomplete, r.Verdict, "the counts are there, but who is subscribed is not known")
	assert.Zero(t, r.Commands)
	assert.Empty(t, r.Denied, "our own refusals are nobody's use")
	require.Len(t, r.Unseen, 2)
	for _, u := range r.Unseen {
		rules, ok := strings.CutPrefix(u.Do, "ACL SETUSER ")
		require.True(t, ok, u)
		setUser(rules)
	}
	assert.Empty(t, looked(t, watcher, live.Config{}, nil).Unseen)

	setUser("watcher reset on >hunter2 -@all")
	_, err := tryLook(t.Context(), watcher, live.Config{}, nil)
	require.ErrorContains(t, err, "+info +client|list")
	watcher.Password = "hunter3"
	_, err = tryLook(t.Context(), watcher, live.Config{}, nil)
	require.ErrorContains(t, err, "AUTH was refused")
	assert.NotContains(t, err.Error(), "hunter")
}

// ACL LOG names a service with a user that may not use transactions.
func TestLiveACLLog(t *testing.T) {
	server := servers.Redis(t)
	admin := client(t, server.Addr)
	require.NoError(t, admin.Do(t.Context(), "acl", "setuser", "desk", "on", ">hunter2", "~*", "&*", "+@all", "-@transaction").Err())
	desk := redis.NewClient(&redis.Options{Addr: server.Addr, Username: "desk", Password: "hunter2", ClientName: "desk-1"})
	defer desk.Close()
	refuse := func() {
		require.Error(t, desk.Watch(t.Context(), func(*redis.Tx) error { return nil }, "k"))
	}
	refuse() // before the window
	r := looked(t, live.Address{Host: server.Addr}, live.Config{}, func() {
		refuse()
		refuse()
	})
	uses, _, from := sightings(r, "WATCH")
	assert.Equal(t, int64(2), uses)
	assert.Equal(t, []string{"desk-1"}, from)
	require.Len(t, r.Denied, 1)
	assert.Equal(t, int64(2), r.Denied[0].Count)
	assert.Equal(t, "desk", r.Denied[0].Username)
}

func TestLiveReset(t *testing.T) {
	server := servers.Redis(t)
	rdb := client(t, server.Addr)
	updates(t, cas.New(rdb, cas.Config{}), 9)
	r := looked(t, live.Address{Host: server.Addr}, live.Config{}, func() {
		require.NoError(t, rdb.ConfigResetStat(t.Context()).Err())
		updates(t, cas.New(rdb, cas.Config{}), 3)
	})
	assert.Equal(t, live.Incomplete, r.Verdict)
	assert.Contains(t, r.Incomplete[0], "counters reset")
	uses, _, _ := sightings(r, "WATCH")
	assert.Equal(t, int64(3), uses)
}

// A replica counts replicated MULTI and EXEC, so it is not observed, and its primary gets no finding for
// replication.
func TestLongLiveReplica(t *testing.T) {
	t.Parallel()
	long.Only(t)
	primary := servers.Redis(t)
	host, port, _ := strings.Cut(primary.Addr, ":")
	replica := servers.Redis(t, "--replicaof", host, port)
	rdb := client(t, primary.Addr)
	require.Eventually(t, func() bool {
		info, err := rdb.Info(t.Context(), "replication").Result()
		return err == nil && strings.Contains(info, "state=online")
	}, 20*time.Second, 20*time.Millisecond)

	_, err := tryLook(t.Context(), live.Address{Host: replica.Addr}, live.Config{}, nil)
	require.ErrorContains(t, err, "ask its primary: "+primary.Addr)

	r := looked(t, live.Address{Host: primary.Addr}, live.Config{Strict: true, For: 2500 * time.Millisecond}, nil)
	assert.Equal(t, live.Clean, r.Verdict, r.Findings)
	assert.True(t, slices.ContainsFunc(r.Attributed, func(a live.Attributed) bool { return a.Command == "REPLCONF" }),
		"control: they were sent")

	// Negative control: the findings of the replica if it were observed.
	r = looked(t, live.Address{Host: replica.Addr}, live.Config{Replicas: true}, func() {
		_, err := rdb.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
			p.Set(t.Context(), "a", 1, 0)
			p.Set(t.Context(), "b", 1, 0)
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, rdb.Wait(t.Context(), 1, 5*time.Second).Err())
	})
	uses, _, _ := sightings(r, "EXEC")
	assert.Equal(t, int64(1), uses)
}

// One address of a cluster suffices.
func TestLongLiveCluster(t *testing.T) {
	t.Parallel()
	long.Only(t)
	nodes := servers.Cluster(t, 3)
	r := looked(t, live.Address{Host: nodes[0].Addr}, live.Config{Profile: proxycompat.Codis32()}, func() {
		require.NoError(t, client(t, nodes[2].Addr).Publish(t.Context(), "events", "x").Err())
	})
	assert.Equal(t, live.Findings, r.Verdict, r.Incomplete)
	assert.Len(t, r.Servers, 3)
	assert.Equal(t, "PUBLISH", r.Findings[0].Command)
	assert.Equal(t, map[string]live.Stat{nodes[2].Addr: {Calls: 1}}, r.Findings[0].Servers)
}

// A proxy is recognized, since it counts nothing.
func TestLiveProxy(t *testing.T) {
	backend := servers.Redis(t)
	proxy := servers.Nutcracker(t, []string{backend.Addr}, 1)
	_, err := tryLook(t.Context(), live.Address{Host: proxy.Addr}, live.Config{}, nil)
	var setup *live.SetupError
	require.ErrorAs(t, err, &setup)
	assert.Contains(t, err.Error(), "proxy")
}
