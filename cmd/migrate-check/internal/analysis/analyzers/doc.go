// Package analyzers holds the analyzers of migrate-check, as rows of one table.
//
// # Analyzer redistx
//
// redistx: find WATCH, MULTI, EXEC, DISCARD and UNWATCH
//
// A Codis-style proxy refuses these commands; most others do, too. The findings:
//
//   - MC101: a WATCH, by a typed method of any version of go-redis, also behind an interface
//     of your own, or by a builder of rueidis and valkey-go
//   - MC102: a pipeline within MULTI and EXEC, as by TxPipelined
//   - MC104: a WATCH without an EXEC: it does not guard the writes under it
//   - MC103: one of the commands by its name, as by redigo's Do and Send
//
// Commands that the profile of -redisprofile.profile permits are no findings.
//
// Each finding ends with the class of the transaction, such as "one string" or "a record and its index", and with the call of
// github.com/unwatch/unwatch/rmw that replaces it.
//
// # Analyzer redispubsub
//
// redispubsub: find SUBSCRIBE, PSUBSCRIBE, SSUBSCRIBE, PUBLISH and SPUBLISH
//
// A Codis-style proxy refuses these commands. The findings:
//
//   - MC201: a subscription, in all clients and by all names
//   - MC202: a publication
//
// Instead of a message, poll, bounded by the remaining time of the value, as
// github.com/unwatch/unwatch/lockupdate does. A real channel needs a Redis outside of
// the proxy, or a queue.
//
// # Analyzer redisunknown
//
// redisunknown: find commands with a name that the code does not show
//
// A name that comes from a configuration, a field, or a caller elsewhere may be that of a
// command that a proxy refuses (MC901). The finding is the place that loses the name. For a helper with
// the name as a parameter, that is the call of the helper.
//
// # Analyzer rediskeys
//
// rediskeys: find commands and keys that a proxy cannot serve
//
// The profile of the proxy decides: see package profile. The findings:
//
//   - MC301: BLPOP, BRPOP and BRPOPLPUSH
//   - MC302: other commands that block, XREAD with BLOCK among them
//   - MC401: refused commands without a rule of their own, such as KEYS and SCAN; and
//     arguments that the server behind the proxy does not know, if the profile has its version
//   - MC402: commands with several keys that are not proven to share a slot
//   - MC403: MGET, MSET, DEL and EXISTS of several keys, which are split: with -split only
//   - MC404: commands that go to the wrong server, because the proxy routes by a word that is no key
//   - MC405: mistakes in hash tags
//   - MC701: administration
//
// Package symbolic evaluates the keys. A slice with unknown elements may
// have several keys, and proves nothing. A command with one key is no finding of MC402.
//
// # Severities
//
// The category of a diagnostic is its rule. If a finding has another severity than its rule,
// the severity follows behind a slash: "MC402/error" is about keys that are proven
// to be in different slots.
//
// # Analyzer redisclient
//
// redisclient: find clients with a setup that does not suit a proxy
//
// A proxy speaks like a single server, and refuses many handshake commands of clients.
// The code that sends commands does not show those. The findings:
//
//   - MC601: clients of a cluster, of sentinels, or of a ring
//   - MC602: handshake commands that a proxy refuses: the name of the client,
//     the handshake of go-redis v9, and the client-side cache of rueidis
//   - MC603: another database than 0, by an option, an address, or SELECT
//
// The profile of the proxy decides: see package profile. The analyzer reads options
// in literals and assignments, and knows no values from a configuration.
//
// The category of a diagnostic is its rule, with a severity behind a slash if it is not
// that of the rule: "MC602/warning".
//
// # Analyzer redisnotify
//
// redisnotify: find keyspace notifications
//
// A server publishes changes of its keys on channels of its own. The findings:
//
//   - MC203: a subscription to __keyspace@ or __keyevent@, and the setting
//     notify-keyspace-events
//
// # Analyzer redisscripts
//
// redisscripts: find Lua scripts that do not work behind a proxy
//
// A proxy routes a script by its first key, and never looks into it. The findings:
//
//   - MC501: several keys that are not proven to share a slot
//   - MC502: no keys at all
//   - MC503: keys that the script uses and that are not in KEYS
//   - MC504: commands that do not work in a script, or have no effect, as PUBLISH
//   - MC505: SCRIPT LOAD, EXISTS and FLUSH, and EVALSHA without EVAL when it fails
//
// Scripts are those of go-redis' Eval and NewScript, redigo's NewScript, rueidis' NewLuaScript
// and builders, radix' NewEvalScript, and EVAL by its name. Their text may be a constant, a concatenation
// of constants, or embedded by go:embed. Package
// github.com/unwatch/unwatch/proxycompat/scriptcheck reads it. The profile of the proxy decides:
// see package profile.
//
// The category of a diagnostic is its rule, with a severity behind a slash if it is not
// that of the rule: "MC501/error" is about keys that are proven to be in different slots, and
// "MC504/note" about a script that is only known at run time.
package analyzers
