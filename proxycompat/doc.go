// Package proxycompat says what a Redis proxy permits, and keeps a program from
// sending what it does not.
//
// A proxy in front of many servers speaks Redis but is not Redis. What breaks
// is rarely an honest error:
//
//   - A transaction is not refused, it is taken apart. Codis answers MULTI and
//     EXEC with errors and executes what stands between them one by one.
//   - A script with two keys is routed by the first. If the second lives
//     elsewhere the script reads and writes the wrong server, and says nothing.
//   - twemproxy answers an unknown command by closing the connection, after
//     executing what came before it. go-redis then sends all of it again.
//   - HELLO 3, with which go-redis opens connections, breaks a server
//     connection that other clients of a Codis proxy share.
//
// # How to use it
//
// Start from [Options] and add [Hook], and a command that cannot work fails at
// once, with a reason, before it leaves the process:
//
//	profile := proxycompat.Codis32()
//	rdb := redis.NewClient(proxycompat.Options(profile, "codis-proxy:19000"))
//	rdb.AddHook(proxycompat.Hook(profile))
//
// On the way there, [Report] is a hook for a service that still runs on its own Redis: it
// lets everything pass, and tells what Hook would refuse.
//
// [Profile.Check] asks the same question without a client, for a test of your
// own commands, and [Explain] what in your own client options will hurt. [Lookup] has the
// profiles of other proxies, and with "codis@3.2" says which Redis is behind: commands and
// arguments that this version does not know are refused, too.
//
// The sub-packages: probe asks a live address what it permits; custom reads the profile of
// a proxy of your own from a file; scriptcheck reads Lua scripts; proxytest has a proxy to
// test against.
//
// # How a verdict comes about
//
// The command list of Redis (commands.tsv) says where the keys of each command are and
// since when there is one, and arguments.tsv which of its arguments came later. A profile
// (profiles/*.tsv) has rows for what its proxy treats in a way of its own, and one for all
// the rest. What follows from these is not written
// down: that a proxy which forwards unknown commands by their first argument misroutes
// one whose key is elsewhere, or that a server of version 3.2 does not know UNLINK.
//
// # What passes is not safe by that alone
//
// A profile looks at one command at a time. Through a proxy, also this holds:
// two commands of one pipeline may be executed in either order, even on one
// key; GET may be answered by a replica that is behind; DEL, MGET and MSET of
// several keys are not atomic; and a timeout or a broken connection says
// nothing about whether the command was executed.
package proxycompat
