// Package live looks at Redis servers that are in use, and counts what is still sent to
// them that a proxy in front would not carry out: the proof, against what runs, that a
// migration is through.
//
// # What it promises
//
// "0 uses in 24 h of 1,234,567 commands" is what the servers themselves have counted, in
// INFO commandstats: every command of every client, with those that were refused. It is
// said only if the counting had no gap. A server that was started anew, had its counters
// reset, changed its role, did not show its clients, or did not answer at the end makes a
// report Incomplete, and so does an early end. A subscriber from before, who sends nothing, is found as well: CLIENT
// LIST shows who is subscribed, in MULTI, watching (since Redis 7.4) or blocked.
//
// # What it sends
//
// AUTH, INFO, CLIENT LIST, CLIENT SETNAME of its own connection, ACL WHOAMI, ACL LOG,
// CLUSTER NODES; MONITOR where Config.Monitor says so; and of sentinels SENTINEL
// GET-MASTER-ADDR-BY-NAME. Nothing else can leave: the
// connection itself refuses it. Nothing of this reads or writes a key. Its own commands
// are in the servers' counts, and are taken out of them one by one.
//
// Rights is the ACL of a user for it. Without the right to CLIENT LIST or ACL LOG it still
// counts, and the report says what it could not see and how to permit it. Without CLIENT
// LIST, and before Redis 6.2 without ACL LOG, that is no verdict.
//
// # What it costs
//
// INFO twice per look, 0.1 to 0.2 ms of a server's time together. CLIENT LIST takes 1 to 2 ms
// per 1,000 clients (10,000: 2.6 MB, 21 ms; Redis 7.0.15); one of more than about 1,000 is
// asked for at most so often that waiting for it is a hundredth of the time. MONITOR makes a
// server write each command once more, which can halve what it gets done: so it is opt-in,
// ends after some seconds or commands, and does not begin where there is much to do.
//
// # What counts
//
// What the profile of the proxy says of a command decides. Refused, closing, misrouted and
// harmful commands are findings, under the rules of migrate-check. What depends on the keys
// (SINTER, EVAL, MGET) is a note, for no count shows keys; MONITOR does, and makes a finding
// of keys that do not fit together. Of MONITOR's lines it keeps the names of commands, the
// patterns of such keys, and who sent them; values never.
//
// Administration (CONFIG, CLIENT, SLOWLOG, INFO, …) and what clients send when they connect
// (HELLO, CLIENT SETINFO, SELECT) are notes as well: exporters and operators ask a server
// itself, and go on doing so. Config.Strict makes findings of them. TIME, DBSIZE, FLUSHALL,
// FLUSHDB and SWAPDB are findings, for services send those.
//
// Counted for nobody is what replication sends (REPLCONF, PSYNC), and what sentinels do:
// their hello, a PUBLISH every two seconds each, and their subscriptions. Sentinels are known
// by the names that they give their connections. How many hellos there were is known within
// a tenth or so: PUBLISH within that range is theirs, unless CLIENT LIST or MONITOR has seen
// another publisher, in which case all but the least that they must have sent is a finding.
//
// # What it cannot see
//
// What did not happen within the window: a weekly job needs a week. Who sent a command is
// known by samples of CLIENT LIST, which miss short connections; MONITOR knows, for some
// seconds, and so does ACL LOG, of users who lack the right. The counts contain what scripts
// call; before MONITOR shows it, a PUBLISH of a script is not told from a client's. In a
// transaction only what EXEC carried out is counted, not what DISCARD has dropped.
//
// A proxy, a sentinel and a replica cannot be judged: the first does not count, the second
// is no server, and a replica counts what replication does.
package live
