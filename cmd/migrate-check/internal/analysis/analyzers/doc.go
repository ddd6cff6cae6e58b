// Package analyzers holds the analyzers of migrate-check, as rows of one table.
//
// # Analyzer redistx
//
// redistx: find WATCH, MULTI, EXEC, DISCARD and UNWATCH
//
// A Codis-style proxy refuses these commands; most others do, too. What is found:
//
//   - MC101: a WATCH, by a typed method of any version of go-redis, also behind an interface
//     of your own, or by a builder of rueidis and valkey-go
//   - MC102: a pipeline within MULTI and EXEC, as by TxPipelined
//   - MC104: a WATCH under which nothing is carried out by EXEC: what is written under it was
//     never guarded
//   - MC103: one of the commands by its name, as by redigo's Do and Send
//
// What the profile of -redisprofile.profile lets pass is not reported.
//
// The cure is an update under a lock: see github.com/unwatch/unwatch/lockupdate.
//
// # Analyzer redispubsub
//
// redispubsub: find SUBSCRIBE, PSUBSCRIBE, SSUBSCRIBE, PUBLISH and SPUBLISH
//
// A Codis-style proxy refuses these commands. What is found:
//
//   - MC201: a subscription, in all clients and by all names
//   - MC202: a publication
//
// What waits for a message can poll, bounded by the time that a value has left, as
// github.com/unwatch/unwatch/lockupdate does; a real channel needs a Redis that is not
// behind the proxy, or a queue.
//
// # Analyzer redisunknown
//
// redisunknown: find commands whose name the code does not tell
//
// A name that comes from a configuration, a field, or a caller elsewhere may be that of a
// command that a proxy refuses (MC901). It is told where the name is lost: in a helper that
// is given the name of a command, it is the call that gives it one.
//
// # Analyzer rediskeys
//
// rediskeys: find commands and keys that a proxy cannot serve
//
// What a proxy does with a command is what its profile says: see package profile. What is
// found:
//
//   - MC301: BLPOP, BRPOP and BRPOPLPUSH
//   - MC302: other commands that block, XREAD with BLOCK among them
//   - MC401: commands that are refused and that no other rule names, such as KEYS and SCAN; and
//     arguments that the server behind does not know, if the profile says its version
//   - MC402: commands with several keys that are not proven to share a slot
//   - MC403: MGET, MSET, DEL and EXISTS of several keys, which are split: with -split only
//   - MC404: commands that are sent to the wrong server, because a word that is no key decides
//   - MC405: mistakes in hash tags
//   - MC701: administration
//
// The keys are what package symbolic tells of them. A slice whose elements are not known may
// be of several keys, and proves nothing. A command of one key is none of its business,
// whatever else the command can do.
//
// # Severities
//
// The category of a diagnostic is its rule. Where one finding is graver than its rule, or
// less grave, the severity follows behind a slash: "MC402/error" is about keys that are proven
// to be in different slots.
//
// # Analyzer redisclient
//
// redisclient: find clients whose setup does not suit a proxy
//
// A proxy speaks as one server does, and refuses much of what a client says when it connects.
// None of that is seen where commands are sent. What is found:
//
//   - MC601: clients of a cluster, of sentinels, or of a ring
//   - MC602: what a client sends when it connects and a proxy refuses: the name of the client,
//     the handshake of go-redis v9, and the client-side cache of rueidis
//   - MC603: another database than 0, by an option, an address, or SELECT
//
// What a proxy does is what its profile says: see package profile. Options are looked at where
// they are written, as literals or assignments; what is read from a configuration is not
// known here.
//
// The category of a diagnostic is its rule, with a severity behind a slash where it is not
// that of the rule: "MC602/warning".
//
// # Analyzer redisnotify
//
// redisnotify: find keyspace notifications
//
// A server publishes what happens to its keys on channels of its own. What is found:
//
//   - MC203: a subscription to __keyspace@ or __keyevent@, and the setting
//     notify-keyspace-events
//
// # Analyzer redisscripts
//
// redisscripts: find Lua scripts that do not work behind a proxy
//
// A proxy routes a script by its first key, and never looks into it. What is found:
//
//   - MC501: several keys that are not proven to share a slot
//   - MC502: no keys at all
//   - MC503: keys that the script uses and that are not in KEYS
//   - MC504: commands that do not work in a script, or that nobody hears, as PUBLISH
//   - MC505: SCRIPT LOAD, EXISTS and FLUSH, and EVALSHA without EVAL when it fails
//
// Scripts are those of go-redis' Eval and NewScript, redigo's NewScript, rueidis' NewLuaScript
// and builders, radix' NewEvalScript, and EVAL by its name. Their text may be a constant, put
// together of constants, or embedded by go:embed. It is read by package
// github.com/unwatch/unwatch/proxycompat/scriptcheck; what a proxy does is what its profile
// says: see package profile.
//
// The category of a diagnostic is its rule, with a severity behind a slash where it is not
// that of the rule: "MC501/error" is about keys that are proven to be in different slots, and
// "MC504/note" about a script that cannot be read before it runs.
package analyzers
