// Package sealed lets code that reads with go-redis share keys with [rmw.Transact]. While an update of several keys runs,
// each key is sealed: its name holds a list, so that a GET returns WRONGTYPE. The hook of this package answers from the seal:
//
//	rdb.AddHook(sealed.NewHook(rdb))
//
// A service that reads through a Store only, by [rmw.Reader] or [rmw.ReadAll], does not need it.
//
// # Meaning of an answer
//
// The answer is a value that the key had at a moment during the command, as Read of a Store: the new value, if the update is
// decided, else the one before. The hook writes nothing, does not wait for the update, and ends no abandoned one. Each key is
// answered by itself: two keys of one pipeline, or of one MGET, need not be of one moment.
//
// WATCH is an exception: a write of EXEC over a seal is lost, or fails in part, and WATCH does not notice it. So from the first
// WATCH that the hook has seen, reads wait until the key has no seal, usually 1 or 2 round trips, and EXEC fails, since the key has
// changed. After a second, if a process has crashed, such a read returns WRONGTYPE. So code under WATCH loses no update, also if it
// reads by MGET. If it reads through several clients, they must share one hook. Code that is guarded by anything else than WATCH,
// such as a lock, and code that stores without a guard, must not write these keys beside Transact, with or without the hook.
//
// # Commands
//
//	command                                          while nothing is sealed   for a sealed key
//	GET STRLEN HGET HMGET HGETALL                    as without the hook       1 to 3 round trips more
//	HEXISTS HLEN HKEYS HVALS HSTRLEN                 as without the hook       1 to 3 more
//	EXISTS                                           TYPE in its place; 1 to   1 to 3 more
//	                                                 look at a list
//	TTL PTTL                                         1 more if the key has no  2 to 4 more
//	                                                 expiry
//	MGET                                             1 more if a key is        2 to 4 more
//	                                                 missing: GET of those
//
// All keys of a pipeline take these round trips together. Every other command has the reply of the server: WRONGTYPE, or as of a
// list with some elements. So have all commands in MULTI, where MGET returns nil, commands in scripts, and replies that are read into
// another type than that of the method of the client, such as the *redis.Cmd of Do("HGETALL").
//
// # Errors
//
// A list or another value of your own has the same reply as without the hook. An error wraps the WRONGTYPE, and says why the key
// has no answer, if
//   - a cut-over has moved the key: read it through package cutover ([rmw.ErrWrongKind]);
//   - the seal is damaged ([rmw.ErrWrongKind]), or of a newer build ([rmw.ErrUnsupported]);
//   - the server does not permit the scripts: see the rights in docs/security.md;
//   - the key is sealed for more than a second, after a WATCH ([rmw.ErrContended]).
//
// The hook sends EVAL with one key, TYPE and GET, in plain pipelines, through the client that it got. They work through a proxy, and
// in a Redis Cluster: add the hook to the ClusterClient, and in ClusterOptions.NewClient to its nodes if it uses WATCH. A command
// in a Watch needs a second connection for it.
package sealed
