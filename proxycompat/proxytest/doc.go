// Package proxytest is a Redis proxy inside the test process. It speaks RESP, behaves as a
// [proxycompat.Profile] describes, and injects faults.
//
// It models the parts of a real proxy that affect the correctness of a program: refused commands and their
// errors, the server of each key, one script cache per server, and lost replies. It does not model speed.
//
// # Faults
//
// All faults were observed with real proxies, and are off by default: pipelines executed in another order
// than sent (Config.Parallel), reads from stale replicas (Config.ReplicaLag), slot migration in Codis' two
// ways (Proxy.MoveSlot), lost script caches (Proxy.FlushScripts), servers that hang and execute their
// commands later (Proxy.Sleep), ejection of a server that hangs (Config.AutoEject), and any [Fault].
//
// # Profiles
//
// As Codis it answers a refused command with the exact text of the real proxy, leaves the connection open
// and executes the rest of the pipeline one by one. As twemproxy it closes the connection without a reply,
// and the replies of commands executed before in the same pipeline are lost. As plain Redis it relays, with
// one server connection for each client connection, so that WATCH, MULTI, EXEC and pub/sub work. The other
// profiles use the error texts of their tables; those that permit transactions keep a client on one server
// during a transaction.
//
// # Time
//
// In-process servers expire keys by the clock. With Config.InMemory everything runs over net.Pipe, also
// inside a testing/synctest bubble: start and close the proxy in the bubble, and time.Sleep expires keys in
// no time. TTL and EXPIRETIME are rounded to the nearest second as by Redis, except within a script, where
// miniredis rounds down. WATCH notices that a field or member is removed, except by a script, where miniredis does not.
//
// # Versions
//
// If the profile has a version, such as codis@3.2, an in-process server refuses newer arguments, also in a
// script.
package proxytest
