package servers

import (
	"context"
	"errors"
)

// TB is the part of testing.TB that this package needs. It is declared here so that a main program does not
// link testing.
type TB interface {
	Helper()
	Cleanup(func())
	TempDir() string
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Redis starts a redis-server for the duration of the test, or skips it. See [StartRedis] for the options.
func Redis(t TB, options ...string) *Server {
	t.Helper()
	return use(t, func(ctx context.Context) (*Server, error) {
		return StartRedis(ctx, t.TempDir(), options...)
	})
}

// NewSentinels starts a primary with replicas and sentinels, without intermediaries, for the duration of the
// test, or skips it. See [StartSentinels].
func NewSentinels(t TB, replicas, sentinels int, options ...string) *Sentinels {
	t.Helper()
	return useAs(t, func(ctx context.Context) (*Sentinels, error) {
		direct := func(addr string) (string, error) { return addr, nil }
		return StartSentinels(ctx, t.TempDir(), replicas, sentinels, direct, options...)
	}, (*Sentinels).Stop)
}

// Nutcracker starts a nutcracker over these backends for the duration of the test, or skips it. See
// [StartNutcracker].
func Nutcracker(t TB, backends []string, connections int) *Server {
	t.Helper()
	return use(t, func(ctx context.Context) (*Server, error) {
		return StartNutcracker(ctx, t.TempDir(), backends, connections)
	})
}

// Cluster starts a Redis Cluster of this many masters for the duration of the test, or skips it. See
// [StartCluster].
func Cluster(t TB, masters int) []*Server {
	t.Helper()
	return useAs(t, func(ctx context.Context) ([]*Server, error) {
		return StartCluster(ctx, t.TempDir(), masters)
	}, stopAll)
}

// NewClusterNodes starts a Redis Cluster with replicas for the duration of the test, or skips it. See
// [StartClusterNodes].
func NewClusterNodes(t TB, masters, replicas int, options ...string) *ClusterNodes {
	t.Helper()
	return useAs(t, func(ctx context.Context) (*ClusterNodes, error) {
		return StartClusterNodes(ctx, t.TempDir(), masters, replicas, options...)
	}, (*ClusterNodes).Stop)
}

// Etcd starts an etcd of this many members for the duration of the test, or skips it. See [StartEtcd].
func Etcd(t TB, members int) []*Server {
	t.Helper()
	return useAs(t, func(ctx context.Context) ([]*Server, error) {
		return StartEtcd(ctx, t.TempDir(), members)
	}, stopAll)
}

// ZooKeeper starts a ZooKeeper of this many members for the duration of the test, or skips it. See
// [StartZooKeeper].
func ZooKeeper(t TB, members int) []*Server {
	t.Helper()
	return useAs(t, func(ctx context.Context) ([]*Server, error) {
		return StartZooKeeper(ctx, t.TempDir(), members)
	}, stopAll)
}

// Postgres starts a PostgreSQL for the duration of the test, or skips it. See [StartPostgres] for the options.
func Postgres(t TB, options ...string) *Server {
	t.Helper()
	return use(t, func(ctx context.Context) (*Server, error) {
		return StartPostgres(ctx, t.TempDir(), options...)
	})
}

// MariaDB starts a MariaDB for the duration of the test, or skips it. See [StartMariaDB] for the options.
func MariaDB(t TB, options ...string) *Server {
	t.Helper()
	return use(t, func(ctx context.Context) (*Server, error) {
		return StartMariaDB(ctx, t.TempDir(), options...)
	})
}

// Prometheus starts a Prometheus with this configuration for the duration of the test, or skips it. See
// [StartPrometheus].
func Prometheus(t TB, config string) *Server {
	t.Helper()
	return use(t, func(ctx context.Context) (*Server, error) {
		return StartPrometheus(ctx, t.TempDir(), config)
	})
}

// use is [useAs] for one server.
func use(t TB, start func(context.Context) (*Server, error)) *Server {
	t.Helper()
	return useAs(t, start, (*Server).Stop)
}

// useAs starts with a separate ctx: the ctx of a test ends before its cleanups run, and those may still
// need the server. After its end nothing restarts.
func useAs[T any](t TB, start func(context.Context) (T, error), stop func(T)) T {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	s, err := start(ctx)
	if err != nil {
		end()
		missing(t, err, "against a real server")
		return s
	}
	t.Cleanup(func() { end(); stop(s) })
	return s
}

// missing skips or fails the test if err is not nil: a program that is not installed skips it on a laptop.
// how names the untested feature.
func missing(t TB, err error, how string) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, ErrMissing) && !Required():
		t.Skipf("\n!!!\n!!! NOT TESTED %s: %v\n!!! With %s=1 this skip is a failure.\n!!!", how, err, RequireEnv)
	default:
		t.Fatalf("%v", err)
	}
}
