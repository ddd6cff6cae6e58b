// Package cas is the legacy path of an update: WATCH, read, fn, MULTI, EXEC, and
// again if another writer was quicker. Services do the same today; here it is behind the
// interface that package lockupdate implements as well, with the details right
// that hand-written helpers miss:
//
//	store := cas.New(rdb, cas.Config{})
//	_, err := store.Update(ctx, rmw.Key{Name: "room:7"}, fn)
//
// One update takes 3 round trips and 5 commands: WATCH; GET or HGETALL; MULTI,
// the write, EXEC. A conflict costs the same again, after a random, growing
// delay, up to a bounded number of attempts. HGETALL reads all fields of a hash, also if
// fn needs one: see [rmw.KindHash].
//
// [Store.Transact] updates several keys by one such transaction. It takes 3 round trips and, for two keys, 8 commands.
//
// A key may have the seal of an update of several keys by package lockupdate, in this or another process. Read returns the
// value that the seal or its decision has. The other calls wait until the update has ended, and end it if its process
// has died. So both packages may use the same keys at the same time. That takes EVAL.
//
// If the reply to the EXEC of an Update is lost, the error is an [rmw.ErrOutcomeUnknown]: the write may have
// happened. It is never sent again, neither by this package nor by go-redis.
// Everything before the EXEC is tried again. Transact asks whether its EXEC was executed.
//
// A server that answers READONLY, LOADING or MASTERDOWN is no longer the primary, or not yet. Its connection is
// closed, and the call tries another one, for up to 3 s, until ctx ends or MaxAttempts are used up.
//
// [Store.Peek] is a transaction that only reads.
//
// The connection is unwatched before another call gets it, also when fn panics or
// ctx ends.
//
// # Requirements
//
// A server that permits WATCH: not a Codis-style proxy, which answers with an
// error that becomes [rmw.ErrUnsupported]. Redis 6.0.9 or later. With an earlier
// one, EXEC does not notice that a watched key expired after the WATCH, so an
// update can bring it back. Before 6.0, where SET has no KEEPTTL, the server needs Lua,
// which stands in for it.
//
// Redis 7.4 and Valkey 9 have expiries of the fields of a hash, and EXEC does not notice a
// field that expires. The first update of a hash asks for that with HPEXPIRETIME, once per
// Store. There an update of a hash needs the right to EVAL, HKEYS and HSET: a script in the
// transaction compares the number of fields. A field that an update changes loses its own
// expiry, as by HSET; the other fields keep theirs. A Transact of hashes writes all its keys by one script there, as does
// one without KEEPTTL; the first Transact asks for KEEPTTL.
//
// Transact needs the right to the keys "~tx:*", and to SET, EXISTS, APPEND, PEXPIRE and GET.
package cas
