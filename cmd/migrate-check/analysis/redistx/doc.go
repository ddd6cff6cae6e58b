// Package redistx defines an analyzer for transactions, which a proxy refuses.
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
package redistx
