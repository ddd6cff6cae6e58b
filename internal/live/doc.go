// Package live observes Redis servers in use, and counts the commands that a proxy in front of them
// would refuse. A count of 0 is the proof, on the running system, that a migration is complete.
//
// # Guarantees
//
// "0 uses in 24 h of 1,234,567 commands" is the servers' own count (INFO commandstats): every
// command of every client, including rejected ones. A gap makes the report Incomplete: a restart, a
// reset of the counters, a change of role, a server that does not show its clients or does not
// answer at the end, and an early end. An idle subscriber is found as well: CLIENT LIST shows
// clients that are subscribed, in MULTI, watching (since Redis 7.4) or blocked.
//
// # Commands
//
// AUTH, INFO, CLIENT LIST, CLIENT SETNAME of its own connection, ACL WHOAMI, ACL LOG, CLUSTER NODES;
// MONITOR with Config.Monitor; SENTINEL GET-MASTER-ADDR-BY-NAME to sentinels. The connection refuses
// every other command. None of them reads or writes a key. The report subtracts its own
// commands from the servers' counts.
//
// Rights is the ACL for a user. Without the right to CLIENT LIST or ACL LOG, the report names the
// missing right. Without CLIENT LIST, and before Redis 6.2 without ACL LOG, it is Incomplete.
//
// # Cost
//
// Two INFO for each look, 0.1 to 0.2 ms of a server's time together. CLIENT LIST takes 1 to 2 ms for
// 1,000 clients (10,000: 2.6 MB, 21 ms; Redis 7.0.15); a list of more than about 1,000 clients takes
// at most a hundredth of the time. MONITOR can halve the throughput of a server: it is
// opt-in, ends after some seconds or commands, and does not start on a busy server.
//
// # Findings
//
// The profile of the proxy decides. Refused, closing, misrouted and harmful commands are findings,
// under the rules of migrate-check. Commands that depend on their keys (SINTER, EVAL, MGET) are
// notes: no count shows keys. MONITOR does, and makes a finding of keys that do not fit
// together. Of MONITOR, the report keeps names of commands, patterns of such keys, and clients.
// It never keeps values.
//
// Administration (CONFIG, CLIENT, SLOWLOG, INFO, …) and the commands of connecting clients (HELLO,
// CLIENT SETINFO, SELECT) are notes as well: exporters and operators connect to the server itself.
// Config.Strict makes them findings. TIME, DBSIZE, FLUSHALL, FLUSHDB and SWAPDB are findings, because
// services send them.
//
// Replication (REPLCONF, PSYNC) and sentinels do not count. A sentinel subscribes, and publishes a
// hello every two seconds. Sentinels are known by the names of their connections, and the number of
// their hellos within about a tenth: PUBLISH within that range is theirs. If CLIENT LIST or MONITOR
// shows another publisher, all but the smallest possible number of hellos is a finding.
//
// # Limits
//
// The report covers its window only: a weekly job needs a week. The clients of a command are known
// by samples of CLIENT LIST, which miss short connections, by MONITOR, for some seconds, and by
// ACL LOG, for users without the right. Counts include commands of scripts; only MONITOR
// distinguishes a PUBLISH of a script. Commands of a transaction count only if EXEC executes them.
//
// A proxy, a sentinel and a replica cannot be judged: a proxy has no counts, a sentinel is no
// server, and a replica counts replication.
package live
