// Package servers starts real Redis servers and real proxies on loopback ports, for tests that an
// in-process fake cannot cover.
//
// A test requests a server, or skips with a message that names the package to install:
//
//	redis := servers.Redis(t)
//	proxy := servers.Nutcracker(t, []string{redis.Addr}, 1)
//	nodes := servers.Cluster(t, 3)
//	failover := servers.NewSentinels(t, 1, 1)
//	shards := servers.NewClusterNodes(t, 3, 1)
//	members := servers.ZooKeeper(t, 3)
//
// If the servers are required (CI=true, or [RequireEnv] set to 1) a missing program fails the test instead:
// a suite that skips in CI proves nothing. [Chromium] finds a browser likewise. A main program
// calls [StartRedis] and its like.
//
// Every server keeps its files in a given folder and persists nothing unless an option enables it. Between
// [Server.Kill] and [Server.Restart] it is down, between [Server.Pause] and [Server.Resume] it hangs. It
// ends with its ctx, with [Server.Stop], or, on Linux, with the process that started it, even when that one
// is killed.
package servers
