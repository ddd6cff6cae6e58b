package integration

import (
	"bytes"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/probe"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// The profiles predict the replies of real servers and a real proxy, command by command: this tests the
// profiles as much as the probe.

func probed(t *testing.T, addr string, cfg probe.Config) *probe.Report {
	t.Helper()
	cfg.Timeout, cfg.Budget = 30*time.Second, 10*time.Minute // a busy machine is slow; every command here gets a reply
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

// An old Redis lacks most commands that distinguish it from the proxy on which WATCH is harmful. The probe
// sends WATCH to it, but not to that proxy in front of it.
func TestProbeOldRedis(t *testing.T) {
	server := servers.Redis(t)
	info := client(t, server.Addr).Info(t.Context(), "server").Val()
	version := regexp.MustCompile(`redis_version:[0-9.]+`).FindString(info)
	for name, want := range map[string]probe.Finding{"redis@3.2": probe.Works, "envoy@3.2": probe.NotAsked} {
		profile, err := proxycompat.Lookup(name)
		require.NoError(t, err)
		proxy, err := proxytest.Start(proxytest.Config{Profile: profile, Backends: []string{server.Addr}})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, proxy.Close()) })
		old := "redis_version:3.2." + strings.Repeat("1", len(version)-len("redis_version:3.2."))
		addr := replacing(t, proxy.Addr(), version, old)
		r, err := probe.Probe(t.Context(), addr, probe.Config{})
		require.NoError(t, err)
		assert.Equal(t, name, r.Base, r.Text())
		assert.Equal(t, want, r.Transactions.Watch)
		assert.Equal(t, want, r.Databases)
		text := strings.Join(strings.Fields(r.Text()), " ")
		says := strings.Contains(text, "WATCH works: package cas can be used. - Before Redis 6.0.9, EXEC")
		assert.Equal(t, want == probe.Works, says, text)
		for _, call := range proxy.Calls() {
			assert.False(t, want == probe.NotAsked && call.Command() == "WATCH", "WATCH was sent")
		}
	}
}

// The report names a user without scripts and other keys, and does not attribute this to a proxy.
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
	t.Parallel()
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
	t.Parallel()
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

// replacing returns the address of a relay to addr that replaces a text in replies by another of the same
// length.
func replacing(t *testing.T, addr, text, by string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			back, err := net.Dial("tcp", addr)
			if err != nil {
				_ = conn.Close()
				continue
			}
			all.Go(func() {
				_, _ = io.Copy(back, conn)
				_ = back.Close()
			})
			all.Go(func() {
				defer conn.Close()
				for buf := make([]byte, 1<<20); ; {
					n, err := back.Read(buf)
					if err != nil {
						return
					}
					_, _ = conn.Write(bytes.ReplaceAll(buf[:n], []byte(text), []byte(by)))
				}
			})
		}
	})
	return l.Addr().String()
}
