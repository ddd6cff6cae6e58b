// Package proxytest is a Redis proxy inside the test process: it speaks RESP,
// behaves as a [proxycompat.Profile] says, and fails on demand.
//
// It stands for the parts of a real proxy that decide whether a program is
// right: what is refused and how, which server a key is on, that every server
// has its own script cache, and in which ways a reply can get lost. It is no
// measure of speed.
//
// # What it can do to a program
//
// All of this was seen with real proxies, and is off unless asked for: pipelines
// executed in another order than sent (Config.Parallel), reads from replicas that are
// behind (Config.ReplicaLag), slots that move, in Codis' two ways (Proxy.MoveSlot), scripts
// that a server forgets (Proxy.FlushScripts), servers that hang and execute later what
// they were sent (Proxy.Sleep), a second server for the keys of one that hangs
// (Config.AutoEject), and whatever a [Fault] says.
//
// # How proxies differ
//
// As Codis it answers a refused command with the exact text of the real proxy,
// leaves the connection open and executes the rest of the pipeline one by one.
// As twemproxy it closes the connection without a word, and replies to what was
// executed before in the same pipeline are lost. As plain Redis it relays, one
// server connection for each client connection, so that WATCH, MULTI, EXEC and
// pub/sub work. The other profiles answer in the words of their tables; those that
// permit transactions keep a client on one server for them.
//
// # Time
//
// In-process servers expire keys by the clock. With Config.InMemory everything
// runs over net.Pipe, also inside a testing/synctest bubble: start and close
// the proxy in the bubble, and time.Sleep expires keys in no time. TTL and EXPIRETIME are rounded
// to the nearest second as by Redis, except within a script, where miniredis rounds down.
//
// # Versions
//
// An in-process server of a profile with a version, such as codis@3.2, refuses newer arguments, also
// in a script.
package proxytest
