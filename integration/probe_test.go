package integration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/servers"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/probe"
)

// What real servers and a real proxy answer is what the profiles say, command by
// command: this tests the profiles as much as the probe.

func probed(t *testing.T, addr string, cfg probe.Config) *probe.Report {
	t.Helper()
	cfg.Timeout, cfg.Budget = 30*time.Second, 10*time.Minute // a busy machine is slow; no command here is without an answer
	r, err := probe.Probe(t.Context(), addr, cfg)
	require.NoError(t, err)
	t.Log("\n" + r.Text())
	assert.Empty(t, r.Differences)
	assert.Greater(t, r.Likeness[0].Asked, 150)
	assert.Equal(t, r.Likeness[0].Asked, r.Likeness[0].Agreed)
	assert.Zero(t, r.Left)
	assert.Empty(t, r.Unfinished)
	assert.NotEmpty(t, r.Server.Version)
	assert.Zero(t, r.Reads.Eval.Found, "a script read an old value")
	return r
}

func TestProbeRedis(t *testing.T) {
	server := servers.Redis(t)
	for _, risky := range []bool{false, true} {
		r := probed(t, server.Addr, probe.Config{Risky: risky})
		assert.Equal(t, "redis", r.MostLike())
		assert.Equal(t, probe.Transactions{Multi: probe.Works, Watch: probe.Works}, r.Transactions)
		assert.Equal(t, probe.Works, r.Databases)
		assert.Equal(t, 1, r.Scripts.Caches)
		assert.Zero(t, r.Ordering.SameKey.Found+r.Ordering.TwoKeys.Found)
		assert.Zero(t, client(t, server.Addr).DBSize(t.Context()).Val(), "something is left behind")
	}
}

// A user who may use no scripts and no other keys is told so, and nothing is blamed on
// a proxy.
func TestProbeRedisWithUser(t *testing.T) {
	server := servers.Redis(t)
	admin := client(t, server.Addr)
	require.NoError(t, admin.Do(t.Context(), "acl", "setuser", "plain", "reset", "on", ">hunter2", "~app:*", "+@all", "-@scripting").Err())
	_, err := probe.Probe(t.Context(), server.Addr, probe.Config{Username: "plain", Password: "hunter2"})
	require.ErrorContains(t, err, "NOPERM")

	r, err := probe.Probe(t.Context(), server.Addr, probe.Config{Username: "plain", Password: "hunter2", Prefix: "app:probe:"})
	require.NoError(t, err)
	assert.Equal(t, "redis", r.MostLike(), r.Text())
	assert.Empty(t, r.Differences)
	eval, asked := r.Answer("EVAL")
	require.True(t, asked)
	assert.Equal(t, probe.Forbidden, eval.Outcome)
}

func TestProbeNutcracker(t *testing.T) {
	backends := []*servers.Server{servers.Redis(t), servers.Redis(t)}
	for _, connections := range []int{1, 4} {
		proxy := servers.Nutcracker(t, []string{backends[0].Addr, backends[1].Addr}, connections)
		r := probed(t, proxy.Addr, probe.Config{Risky: connections == 4})
		assert.Equal(t, "twemproxy", r.MostLike())
		assert.Equal(t, probe.Transactions{Multi: probe.Disconnects, Watch: probe.Disconnects}, r.Transactions)
		assert.Equal(t, probe.Ignored, r.Scripts.TwoSlots)
		assert.Equal(t, probe.Ignored, r.Scripts.HashTags, "none is configured")
		if connections == 1 {
			assert.Equal(t, 2, r.Scripts.Caches)
			assert.Zero(t, r.Ordering.SameKey.Found)
		}
		for _, b := range backends {
			assert.Zero(t, client(t, b.Addr).DBSize(t.Context()).Val(), "something is left behind")
		}
	}
	differs, err := probe.Probe(t.Context(), servers.Nutcracker(t, []string{backends[0].Addr}, 1).Addr,
		probe.Config{Profile: proxycompat.Codis32()})
	require.NoError(t, err)
	assert.NotEmpty(t, differs.Differences)
	assert.Equal(t, "twemproxy", differs.MostLike())
}

func TestProbeCluster(t *testing.T) {
	nodes := servers.Cluster(t, 3)
	for i, node := range nodes {
		r := probed(t, node.Addr, probe.Config{Risky: i == 0})
		assert.Equal(t, "cluster", r.MostLike())
		assert.Equal(t, "cluster", r.Server.Mode)
		assert.Equal(t, probe.Transactions{Multi: probe.Works, Watch: probe.Works}, r.Transactions)
		assert.Equal(t, probe.Refuses, r.Databases)
		assert.Equal(t, probe.Refuses, r.Scripts.TwoSlots)
		assert.Equal(t, probe.Works, r.Scripts.HashTags)
	}
	for _, node := range nodes {
		assert.Zero(t, client(t, node.Addr).DBSize(t.Context()).Val(), "something is left behind")
	}
}
