package integration

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/live"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
)

// replicaOf starts a replica, and waits until it is in sync.
func replicaOf(t *testing.T, primary *servers.Server, options ...string) *servers.Server {
	t.Helper()
	host, port, _ := strings.Cut(primary.Addr, ":")
	rdb := client(t, primary.Addr)
	before := connectedReplicas(t, rdb)
	replica := servers.Redis(t, append(options, "--replicaof", host, port)...)
	require.Eventually(t, func() bool { return connectedReplicas(t, rdb) > before }, 20*time.Second, 20*time.Millisecond)
	return replica
}

func connectedReplicas(t *testing.T, rdb *redis.Client) int {
	t.Helper()
	info, err := rdb.Info(t.Context(), "replication").Result()
	require.NoError(t, err)
	return strings.Count(info, "state=online")
}

// The sentinels name the primary, and a failover during the observation is noticed.
func TestLongLiveSentinel(t *testing.T) {
	t.Parallel()
	long.Only(t)
	all := servers.NewSentinels(t, 1, 1)
	primary, replica := all.Servers()[0], all.Servers()[1]
	addr := live.Address{Primary: all.Name(), Sentinels: append([]string{"127.0.0.1:1"}, all.Addrs()...)}

	_, err := tryLook(t.Context(), live.Address{Host: all.Addrs()[0]}, live.Config{}, nil)
	require.ErrorContains(t, err, "sentinel://HOST:PORT/NAME")

	r := looked(t, addr, live.Config{For: 3 * time.Second}, nil)
	assert.Equal(t, live.Clean, r.Verdict, r.Incomplete)
	assert.Equal(t, primary.Addr, r.Servers[0].Addr)

	r = looked(t, addr, live.Config{Timeout: time.Second}, func() {
		primary.Stop()
		_, err := all.AwaitPrimary(t.Context(), primary)
		require.NoError(t, err)
	})
	assert.Equal(t, live.Incomplete, r.Verdict)
	assert.Contains(t, strings.Join(r.Incomplete, "\n"), "the sentinels name "+replica.Addr)
}

// A first replica starts a new replication history, although the primary did not change.
func TestLiveFirstReplica(t *testing.T) {
	t.Parallel()
	primary := servers.Redis(t)
	rdb := client(t, primary.Addr)
	id := func() string {
		info, err := rdb.Info(t.Context(), "replication").Result()
		require.NoError(t, err)
		_, after, _ := strings.Cut(info, "master_replid:")
		return after[:40]
	}
	before := id()
	r := looked(t, live.Address{Host: primary.Addr}, live.Config{}, func() { replicaOf(t, primary) })
	assert.NotEqual(t, before, id(), "control: it looks like a failover")
	assert.Equal(t, live.Clean, r.Verdict, r.Incomplete)
}

// A primary that was a replica in between has lost counts of the other primary.
func TestLongLiveFailoverAndBack(t *testing.T) {
	t.Parallel()
	long.Only(t)
	primary := servers.Redis(t)
	replica := replicaOf(t, primary)
	host, port, _ := strings.Cut(replica.Addr, ":")
	rdb, other := client(t, primary.Addr), client(t, replica.Addr)
	r := looked(t, live.Address{Host: primary.Addr}, live.Config{}, func() {
		require.NoError(t, other.ReplicaOf(t.Context(), "no", "one").Err())
		require.NoError(t, rdb.ReplicaOf(t.Context(), host, port).Err())
		require.Eventually(t, func() bool { return connectedReplicas(t, other) == 1 }, 20*time.Second, 20*time.Millisecond)
		require.NoError(t, rdb.ReplicaOf(t.Context(), "no", "one").Err())
	})
	assert.Equal(t, live.Incomplete, r.Verdict)
	assert.Contains(t, strings.Join(r.Incomplete, "\n"), "was a replica in between")
}

func TestLiveServerDies(t *testing.T) {
	server := servers.Redis(t)
	r := looked(t, live.Address{Host: server.Addr}, live.Config{Timeout: time.Second}, server.Stop)
	assert.Equal(t, live.Incomplete, r.Verdict)
	assert.Contains(t, r.Incomplete[0], "could not be asked since")
}

// A server that hangs has processed nothing meanwhile; one that stays stopped gets no verdict.
func TestLiveServerHangs(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	addr := live.Address{Host: server.Addr}
	cfg := live.Config{Timeout: time.Second, For: 4 * time.Second} // a busy machine answers within a second
	r := looked(t, addr, cfg, func() {
		require.NoError(t, server.Signal(syscall.SIGSTOP))
		time.AfterFunc(2500*time.Millisecond, func() { _ = server.Signal(syscall.SIGCONT) })
	})
	assert.Equal(t, live.Clean, r.Verdict, r.Incomplete)
	assert.Zero(t, r.Commands)

	r = looked(t, addr, cfg, func() { require.NoError(t, server.Signal(syscall.SIGSTOP)) })
	assert.Equal(t, live.Incomplete, r.Verdict)
	require.NoError(t, server.Signal(syscall.SIGCONT))
}

// A server that closes idle connections is observed to the end.
func TestLiveIdleTimeout(t *testing.T) {
	server := servers.Redis(t)
	r := looked(t, live.Address{Host: server.Addr}, live.Config{}, func() {
		require.NoError(t, client(t, server.Addr).Do(t.Context(), "client", "kill", "type", "normal", "skipme", "yes").Err())
	})
	assert.Equal(t, live.Clean, r.Verdict, r.Incomplete)
}

// No reply of a server reveals the password.
func TestLiveRenamedCommands(t *testing.T) {
	server := servers.Redis(t, "--rename-command", "AUTH", "other", "--rename-command", "WATCH", "hidden")
	_, err := tryLook(t.Context(), live.Address{Host: server.Addr, Password: "hunter2"}, live.Config{}, nil)
	require.ErrorContains(t, err, "AUTH was refused")
	assert.NotContains(t, err.Error(), "hunter2")

	r := looked(t, live.Address{Host: server.Addr}, live.Config{}, func() {
		require.NoError(t, client(t, server.Addr).Do(t.Context(), "hidden", "k").Err())
	})
	uses, _, _ := sightings(r, "WATCH")
	assert.Equal(t, int64(1), uses, "a server counts under the first name")
}

func TestLiveTooManyClients(t *testing.T) {
	server := servers.Redis(t, "--maxclients", "1")
	require.NoError(t, client(t, server.Addr).Ping(t.Context()).Err())
	_, err := tryLook(t.Context(), live.Address{Host: server.Addr}, live.Config{}, nil)
	require.Error(t, err)
	assert.Regexp(t, "max number of clients|closes the connection", err.Error())
	assert.NotContains(t, err.Error(), "password")
}

func TestLiveSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "r.sock")
	server := servers.Redis(t, "--unixsocket", socket)
	addr, err := live.ParseAddress("unix://" + socket)
	require.NoError(t, err)
	r := looked(t, addr, live.Config{Monitor: &live.MonitorConfig{}}, func() {
		require.NoError(t, client(t, server.Addr).Publish(context.Background(), "events", "x").Err())
	})
	assert.Equal(t, live.Findings, r.Verdict, r.Incomplete)
	assert.Equal(t, int64(1), r.Uses)
	assert.Equal(t, socket, r.Servers[0].Addr)
}

// A key with an escape sequence does not reach the user's terminal.
func TestLiveHostileKeys(t *testing.T) {
	server := servers.Redis(t)
	r := looked(t, live.Address{Host: server.Addr}, live.Config{Monitor: &live.MonitorConfig{ShowKeys: true}}, func() {
		require.NoError(t, client(t, server.Addr).SInter(t.Context(), "a\x1b[2J\n", "b\xff\u009b").Err())
	})
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	assert.Contains(t, text.String(), "keys a?[2J? b??")
}
