package integration

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// replicated is a server with a replica, which takes its place again and again.
type replicated struct {
	servers [2]*servers.Server // the present master first
	admin   [2]*redis.Client   // of them
	// promote makes the second one the master.
	promote func(t *testing.T, r *replicated)
	client  func() redis.UniversalClient
	// name returns the name of a key that the servers have.
	name func(name string) string
}

func (r *replicated) do(t *testing.T, server int, args ...any) string {
	t.Helper()
	text, err := r.admin[server].Do(t.Context(), args...).Result()
	require.NoError(t, err, args)
	return fmt.Sprint(text)
}

// replicate waits until the replica has all writes.
func (r *replicated) replicate(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		return strings.Contains(r.do(t, 1, "INFO", "replication"), "master_link_status:up")
	}, time.Minute, 10*time.Millisecond)
	rdb := r.admin[0].Conn() // WAIT is for the writes of its connection
	defer func() { assert.NoError(t, rdb.Close()) }()
	require.NoError(t, rdb.Set(t.Context(), r.name("replicated"), "", 0).Err())
	require.NoError(t, rdb.Do(t.Context(), "WAIT", 1, 10_000).Err())
}

// cut ends the replication, so that the replica forgets what follows. With a wrong password the replica
// does not connect again.
func (r *replicated) cut(t *testing.T) {
	t.Helper()
	r.do(t, 1, "CONFIG", "SET", "masterauth", "wrong")
	r.do(t, 0, "CLIENT", "KILL", "TYPE", "replica")
	require.Eventually(t, func() bool {
		return strings.Contains(r.do(t, 0, "INFO", "replication"), "connected_slaves:0")
	}, time.Minute, 10*time.Millisecond)
}

// failover makes the replica the master, and the master its replica.
func (r *replicated) failover(t *testing.T) {
	t.Helper()
	r.promote(t, r)
	r.do(t, 1, "CONFIG", "SET", "masterauth", "")
	r.servers[0], r.servers[1] = r.servers[1], r.servers[0]
	r.admin[0], r.admin[1] = r.admin[1], r.admin[0]
	require.Eventually(t, func() bool {
		return strings.Contains(r.do(t, 0, "INFO", "replication"), "role:master") &&
			strings.Contains(r.do(t, 1, "INFO", "replication"), "role:slave")
	}, time.Minute, 10*time.Millisecond)
	r.replicate(t)
}

func newReplicated(t *testing.T) *replicated {
	r := &replicated{
		servers: [2]*servers.Server{servers.Redis(t), servers.Redis(t)},
		name:    func(name string) string { return name },
		promote: func(t *testing.T, r *replicated) {
			r.do(t, 1, "REPLICAOF", "NO", "ONE")
			r.do(t, 0, append([]any{"REPLICAOF"}, hostAndPort(r.servers[1])...)...)
		},
	}
	r.client = func() redis.UniversalClient { return plain(r.servers[0]) }
	for i, server := range r.servers {
		r.admin[i] = client(t, server.Addr)
		r.do(t, i, "CONFIG", "SET", "repl-diskless-sync-delay", "0") // a master waits 5 s for further replicas otherwise
	}
	r.do(t, 1, append([]any{"REPLICAOF"}, hostAndPort(r.servers[0])...)...)
	r.replicate(t)
	return r
}

func plain(s *servers.Server) redis.UniversalClient {
	return redis.NewClient(&redis.Options{Addr: s.Addr, Protocol: 2, DisableIdentity: true})
}

func hostAndPort(s *servers.Server) []any {
	host, port, _ := strings.Cut(s.Addr, ":")
	return []any{host, port}
}

// newReplicatedShard returns the first shard of a Redis Cluster.
func newReplicatedShard(t *testing.T) *replicated {
	nodes := servers.NewClusterNodes(t, 3, 1)
	all := nodes.Servers()
	r := &replicated{
		servers: [2]*servers.Server{all[0], all[3]},
		admin:   [2]*redis.Client{client(t, all[0].Addr), client(t, all[3].Addr)},
		promote: func(t *testing.T, r *replicated) {
			r.do(t, 1, "CLUSTER", "FAILOVER", "TAKEOVER")
			require.NoError(t, nodes.AwaitOK(t.Context()))
		},
		client: func() redis.UniversalClient {
			return redis.NewClusterClient(&redis.ClusterOptions{Addrs: nodes.Addrs(), Protocol: 2, DisableIdentity: true})
		},
	}
	r.name = func(name string) string {
		for i := 0; ; i++ {
			key := fmt.Sprintf("%s:%d", name, i)
			if r.admin[0].ClusterKeySlot(t.Context(), key).Val() < 16384/3-1 {
				return key
			}
		}
	}
	r.replicate(t)
	return r
}

// failovers is a cut-over of which one store fails over.
type failovers struct {
	t       *testing.T
	fails   *replicated
	clients [2]func() redis.UniversalClient
	masters [2]func() operate.Scanner
	names   map[string][]string // of this round
	total   map[string]int
	rounds  int
}

var (
	toNew = cutover.Stage{Phase: cutover.Copying, Percent: 100}
	toOld = cutover.Stage{Phase: cutover.Reverse}
)

// with calls fn with a process.
func (f *failovers) with(cfg cutover.Config, fn func(s *cutover.Store)) {
	var sides [2]cutover.Side
	for i, open := range f.clients {
		rdb := open()
		defer func() { assert.NoError(f.t, rdb.Close()) }()
		store := lockupdate.New(rdb, lockupdate.Config{})
		defer func() { assert.NoError(f.t, store.Close()) }()
		sides[i] = cutover.Side{Store: store, Redis: rdb}
	}
	s := cutover.New(sides[0], sides[1], cfg)
	defer func() { assert.NoError(f.t, s.Close()) }()
	fn(s)
}

// update adds x to each key of the group, and returns how many updates were acknowledged.
func (f *failovers) update(cfg cutover.Config, group string) (acknowledged int) {
	var all sync.WaitGroup
	var mu sync.Mutex
	f.with(cfg, func(s *cutover.Store) {
		for _, name := range f.names[group] {
			all.Go(func() {
				_, err := s.Update(f.t.Context(), rmw.Key{Name: name}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
					return rmw.String(cur.Text() + "x"), nil
				})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					acknowledged++
				} else {
					assert.ErrorIs(f.t, err, rmw.ErrUnavailable)
				}
			})
		}
		all.Wait()
	})
	return acknowledged
}

// sweep returns how many keys of the group a sweep has moved.
func (f *failovers) sweep(cfg cutover.Config, group string) (moved int) {
	f.with(cfg, func(s *cutover.Store) {
		pass, err := operate.Sweep(f.t.Context(), s, f.choose(group))
		require.NoError(f.t, err)
		moved = pass.Moved
	})
	return moved
}

// choose returns a pass over the keys of the group.
func (f *failovers) choose(group string) operate.SweepConfig {
	mine := map[string]bool{}
	for _, name := range f.names[group] {
		mine[name] = true
	}
	return operate.SweepConfig{
		Masters:    []operate.Scanner{f.masters[0]()},
		NewMasters: []operate.Scanner{f.masters[1]()},
		Keys:       func(name string) (rmw.Key, bool) { return rmw.Key{Name: name}, mine[name] },
	}
}

// verify adds to the totals what Verify finds among the keys of the group.
func (f *failovers) verify(group string) (report operate.Report) {
	f.with(cutover.Config{}, func(s *cutover.Store) {
		var err error
		report, err = operate.Verify(f.t.Context(), s, f.choose(group))
		require.NoError(f.t, err)
	})
	for what, n := range map[string]int{
		"two homes": report.TwoHomes.Count, "no marker": report.Unmarked.Count, "forgotten": report.Forgotten.Count,
		"absent now": report.Missing.Count, "expiring, illegal or failed": report.Wrong() - report.TwoHomes.Count -
			report.Unmarked.Count - report.Forgotten.Count,
	} {
		f.total[group+": "+what] += n
	}
	return report
}

// count adds to the total of the group the keys with this value.
func (f *failovers) count(group, want string) {
	f.with(cutover.Config{}, func(s *cutover.Store) {
		for _, name := range f.names[group] {
			v, err := s.Read(f.t.Context(), rmw.Key{Name: name})
			require.NoError(f.t, err)
			if v.Text() == want {
				f.total[fmt.Sprintf("%s: %q", group, want)]++
			}
		}
	})
}

// reserve makes a reservation in the new store.
func (f *failovers) reserve(group string) {
	script, err := os.ReadFile("../cutover/internal/marker/marker.lua")
	require.NoError(f.t, err)
	rdb := f.clients[1]()
	defer func() { assert.NoError(f.t, rdb.Close()) }()
	for i, name := range f.names[group] {
		nonce := fmt.Sprintf("0.zz%02d", i)
		require.NoError(f.t, rdb.Eval(f.t.Context(), string(script), []string{name}, "reserve", nonce).Err())
	}
}

// failoverKeys is the number of keys of each group and round.
const failoverKeys = 10

// play plays a round of each group: prepare, then the replica is cut off, then acts, then a failover.
// UNWATCH_LONG is the number of failovers; each takes some seconds.
func (f *failovers) play(groups []string, prepare, act, audit func()) {
	if n, err := strconv.Atoi(os.Getenv("UNWATCH_LONG")); err == nil {
		f.rounds = n
	}
	for round := range f.rounds {
		f.names = map[string][]string{}
		for _, group := range groups {
			for i := range failoverKeys {
				f.names[group] = append(f.names[group], f.fails.name(fmt.Sprintf("%s:%d:%d", group, round, i)))
			}
		}
		prepare()
		f.fails.replicate(f.t)
		f.fails.cut(f.t)
		act()
		f.fails.failover(f.t)
		audit()
	}
}

// requireTotals compares the totals that are not 0.
func (f *failovers) requireTotals(want map[string]int) {
	got := map[string]int{}
	for what, n := range f.total {
		if n != 0 {
			got[what] = n
		}
	}
	f.t.Logf("%d failovers, %d keys of each group: %v", f.rounds, f.rounds*failoverKeys, got)
	require.Equal(f.t, want, got)
}

// The old store forgets all that followed the end of its replication. With Config.Replicas no seal is
// among it. Without, Verify finds each key that a forgotten seal leaves in two homes, or without a marker.
func TestLongFailoversOfTheOldStore(t *testing.T) {
	t.Parallel()
	long.Only(t)
	old, new := newReplicated(t), servers.Redis(t)
	admin := client(t, new.Addr)
	f := &failovers{
		t: t, fails: old, total: map[string]int{}, rounds: 4,
		clients: [2]func() redis.UniversalClient{old.client, func() redis.UniversalClient { return plain(new) }},
		masters: [2]func() operate.Scanner{func() operate.Scanner { return old.admin[0] }, func() operate.Scanner { return admin }},
	}
	follow, waits := cutover.Config{}, cutover.Config{Stage: toNew, Replicas: 1}
	f.play([]string{"with", "with, absent", "without", "without, absent", "back"}, func() {
		require.Equal(t, failoverKeys, f.update(follow, "with"))
		require.Equal(t, failoverKeys, f.update(follow, "without"))
		require.Equal(t, failoverKeys, f.update(waits, "back"))
	}, func() {
		assert.Zero(t, f.update(waits, "with"))
		assert.Zero(t, f.update(waits, "with, absent"))
		assert.Equal(t, failoverKeys, f.update(cutover.Config{Stage: toNew}, "without"))
		assert.Equal(t, failoverKeys, f.update(cutover.Config{Stage: toNew}, "without, absent"))
		assert.Equal(t, failoverKeys, f.update(cutover.Config{Stage: toOld}, "back"))
	}, func() {
		for group := range f.names {
			f.verify(group)
		}
		f.count("with", "x")
		assert.Equal(t, failoverKeys, f.sweep(waits, "with"), "the next sweep moves the keys")
		assert.Equal(t, failoverKeys, f.update(waits, "with"))
		assert.Equal(t, failoverKeys, f.update(waits, "with, absent"))
		f.count("with", "xx")
		f.count("with, absent", "x")
		f.count("without", "x")
		f.count("without, absent", "")
		f.count("back", "x")
	})
	n := f.rounds * failoverKeys
	f.requireTotals(map[string]int{
		`with: "x"`: n, `with: "xx"`: n, `with, absent: "x"`: n,
		"without: two homes": n, `without: "x"`: n, // the update at the new store is not found
		"without, absent: no marker": n, `without, absent: ""`: n,
		"back: forgotten": n, `back: "x"`: n, // the update after the move is lost, as without a cut-over
	})
}

// The same for the new store and Config.NewReplicas.
func TestLongFailoversOfTheNewStore(t *testing.T) {
	t.Parallel()
	long.Only(t)
	old, new := servers.Redis(t), newReplicatedShard(t)
	admin := client(t, old.Addr)
	f := &failovers{
		t: t, fails: new, total: map[string]int{}, rounds: 4,
		clients: [2]func() redis.UniversalClient{func() redis.UniversalClient { return plain(old) }, new.client},
		masters: [2]func() operate.Scanner{func() operate.Scanner { return admin }, func() operate.Scanner { return new.admin[0] }},
	}
	moves, waits := cutover.Config{Stage: toNew}, cutover.Config{Stage: toNew, NewReplicas: 1}
	back, backWaits := cutover.Config{Stage: toOld}, cutover.Config{Stage: toOld, NewReplicas: 1}
	f.play([]string{"with", "without", "reserved", "back, with", "back, without"}, func() {
		for _, group := range []string{"with", "without", "reserved"} {
			require.Equal(t, failoverKeys, f.update(cutover.Config{}, group))
		}
		f.reserve("reserved")
		require.Equal(t, failoverKeys, f.update(waits, "back, with"))
		require.Equal(t, failoverKeys, f.update(waits, "back, without"))
	}, func() {
		assert.Zero(t, f.update(waits, "with"))
		assert.Equal(t, failoverKeys, f.update(moves, "without"))
		assert.Equal(t, failoverKeys, f.update(moves, "reserved"))
		assert.Zero(t, f.update(backWaits, "back, with"))
		assert.Equal(t, failoverKeys, f.update(back, "back, without"))
	}, func() {
		for group := range f.names {
			f.verify(group)
		}
		f.count("with", "x")
		assert.Equal(t, failoverKeys, f.sweep(waits, "with"), "the next sweep moves the keys")
		assert.Equal(t, failoverKeys, f.update(waits, "with"))
		f.count("with", "xx")
		f.count("without", "")
		f.count("reserved", "x")
		assert.Equal(t, failoverKeys, f.update(backWaits, "back, with"))
		f.count("back, with", "xx")
		f.count("back, without", "xx")
	})
	n := f.rounds * failoverKeys
	f.requireTotals(map[string]int{
		`with: "x"`: n, `with: "xx"`: n,
		"without: absent now": n, `without: ""`: n,
		"reserved: forgotten": n, `reserved: "x"`: n, // the update after the move is lost, as without a cut-over
		`back, with: "xx"`:         n,
		"back, without: two homes": n, `back, without: "xx"`: n,
	})
}
