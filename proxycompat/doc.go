// Package proxycompat describes the commands that a Redis proxy permits, and prevents a program from
// sending others.
//
// A proxy in front of many servers speaks Redis but is not Redis. An unsupported command often fails
// without an error:
//
//   - A proxy may execute parts of a transaction. Codis answers MULTI and
//     EXEC with errors and executes the commands between them one by one.
//   - A script with two keys is routed by the first. If the second key belongs to
//     another server, the script reads and writes the wrong server without an error.
//   - twemproxy answers an unknown command by closing the connection, after
//     executing the commands before it. go-redis then sends all of them again.
//   - HELLO 3, with which go-redis opens connections, breaks a server
//     connection that other clients of a Codis proxy share.
//
// # How to use it
//
// Start from [Options] and add [Hook]. A command that cannot work then fails at once, with a reason, before
// it leaves the process:
//
//	profile := proxycompat.Codis32()
//	rdb := redis.NewClient(proxycompat.Options(profile, "codis-proxy:19000"))
//	rdb.AddHook(proxycompat.Hook(profile))
//
// [Report] is a hook for a service that still runs on its own Redis: it permits everything and reports the
// commands that Hook would refuse.
//
// [Profile.Check] makes the same decision without a client, for tests of your own commands, and [Explain]
// reviews client options. [Lookup] returns the profiles of other proxies. "codis@3.2" adds the version of
// Redis behind the proxy: the profile then also refuses commands and arguments that this version does not
// support.
//
// The sub-packages: probe tests the commands of a live address; profilefile reads the profile of your own proxy
// from a file; scriptcheck analyzes Lua scripts; proxytest has a proxy to test against.
//
// # How a verdict comes about
//
// The command list of Redis (commands.tsv) has the key positions and the first version of each command;
// arguments.tsv has the arguments that were added later. A profile (profiles/*.json) has rules for the
// commands that its proxy treats specially, and one for all others. The rest is derived: a proxy which
// forwards unknown commands by their first argument misroutes a command whose key is elsewhere, and a
// server of version 3.2 does not have UNLINK.
//
// # A permitted command is not always safe
//
// A profile looks at one command at a time. Through a proxy, expect also that two commands of one pipeline
// may be executed in either order, even on one key; that a stale replica may answer GET; that DEL, MGET and
// MSET of several keys are not atomic; and that a timeout or a broken connection does not tell whether the
// command was executed.
package proxycompat
