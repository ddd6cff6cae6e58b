// Package servers starts real Redis servers and real proxies on loopback
// ports, for the tests that an in-process fake cannot answer.
//
// A test asks for a server and gets one, or skips with a message that says what
// to install:
//
//	redis := servers.Redis(t)
//	proxy := servers.Nutcracker(t, []string{redis.Addr}, 1)
//	nodes := servers.Cluster(t, 3)
//	failover := servers.NewSentinels(t, 2, 3)
//	shards := servers.NewClusterNodes(t, 3, 1)
//
// Where the servers are promised (CI=true, or [RequireEnv] set to 1) a missing
// program fails the test instead: a suite that skips in CI proves nothing.
// [Chromium] finds a browser likewise. A main program calls [StartRedis],
// [StartNutcracker], [StartSentinels], [StartCluster] and [StartClusterNodes].
//
// Every server keeps its files in the folder it is given and stores nothing
// unless an option says so. Between [Server.Kill] and [Server.Restart] it is
// away, between [Server.Pause] and [Server.Resume] it hangs. It ends with its
// ctx, with [Server.Stop], or, on Linux, with the process that started it, even
// when that one is killed.
package servers
