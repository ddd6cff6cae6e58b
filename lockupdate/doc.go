// Package lockupdate updates a key in Redis through a Codis-style proxy: acquire a lock, read, call fn, commit under a guard.
// Every command has one key, so the proxy lets it through: no WATCH, no MULTI, no pub/sub.
//
//	store := lockupdate.New(rdb, lockupdate.Config{})
//	defer store.Close()
//	_, err := store.Update(ctx, rmw.Key{Name: "room:7"}, fn)
//
// # One update
//
//  1. Acquire and read: two scripts, one round trip. The calls of a process for one key share a queue and a poll. While another
//     process holds the lock, the Store polls when the lock is likely to be free, then after random, growing pauses, and no
//     later than the holder's lease can end.
//  2. Call fn. Its ctx ends with cause [rmw.ErrLockLost] before the lease can end. One loop renews all leases at half.
//  3. Commit: one script, which writes if the key still holds the value that fn got. Otherwise it returns the present value,
//     and fn runs again without another read.
//  4. Answer. The release follows behind it, once the commit is answered or given up. Uncontended: 2 round trips before the
//     answer, 4 commands in all. Concurrent updates of different keys share round trips, and so do renewals. While a part
//     of the store hangs, keys of the other part keep their throughput and their locks: docs/design.md, "Shared flushes".
//
// # Without the lock
//
// With [Config.LockOnDemand] an uncontended update is one page of straight code (updateUnlocked in update.go): read the value
// and look at the lock in one flush, call fn, commit under the guard; 3 commands. If the lock is held or the guard refuses, the
// update takes the lock, as do updates of that key for the next second. Switch it on if every writer is Unwatch or uses WATCH.
// It weakens exclusion: an Update and an unguarded write under the lock can overwrite each other, and two processes can run fn
// at once. docs/guarantees.md lists all differences.
//
// # A contended key
//
// Queued updates form a batch: each fn runs on its caller's goroutine, on the value that the fn before it returned, and one
// commit writes the result, while the next batch forms. No call is answered before the commit of its value. If the guard
// refuses, every fn that ran on the wrong value runs again. An error, a panic or a runtime.Goexit of fn concerns its caller
// alone; a slow fn delays earlier calls by at most a millisecond. [Config.NoCombining] gives each update its own commit.
// Processes take turns: a poll leaves a wait hint in the lock, and the holder sees it within 10 ms, releases, and stays away
// until the others have asked again. A lock that another program of the same layout holds gets no hint.
//
// # Locks shared with Redisson
//
// A lock is a hash of owner and count, as Redisson's RLock: with the same [Config.LockName] they exclude each other. By default
// no release is published, and a waiting Redisson sleeps up to a [Config.Lease] longer. [Config.NotifyRedisson] wakes it where
// it can subscribe: Redis and Sentinel; Redis Cluster before 7.0 (no sharded channels); predixy (several groups: HashTag "{}");
// not Codis, twemproxy, camellia, Envoy, and not Alibaba's proxy, which refuses PUBLISH in a script.
//
// # Why it is safe
//
// The guard is the safety; the lock is the queue. A stall past the lease, a lock lost in a failover, a read before its lock:
// each lets two writers work at once, and the guard lets one commit and sends the other back to fn. Check and write are one
// script on one key, so no proxy, pipeline or slot move comes between. The guard sees WATCH writers (package cas), too. A
// refused commit breaks their transactions in flight, so that they do not end before fn again. Of a hash it compares the
// fields that fn read, set or removed by [rmw.Value.Field], With, Without or [rmw.HashOf], else all. Only changed fields are
// written, so services can share a hash; Result has the fields of all of them. But all fields are read: see [rmw.KindHash].
//
// # Lost answers
//
// Acquire, renew and release recognise their owner and are sent again. A proxy may execute a command that it reported as
// failed, so after a lost acquire the lock is released until a lease has passed. A commit is sent once, also by go-redis;
// without an answer it is an [rmw.ErrOutcomeUnknown]. A second one could be acknowledged and the first execute later, on a
// value that has come back. The Store looks for the value only if [Config.SoleWriter] excludes other writers of the same value.
//
// # Without Lua
//
// Without scripts, as on Pika, [Config.Commit] names the server's own compare-and-set, which [Probe] finds. Guard and round
// trips are the same. Values are strings; KindHash is [rmw.ErrUnsupported]. The lock is a string, SET … NX PX, renewed and
// deleted only by its owner; the wait hint is a key, "/wait" before the lock's name. A refused commit takes another round trip,
// for a read; [Store.Peek] takes three, a first token two. A server with neither cannot be written safely.
//
// # Fencing tokens
//
// [lock.Token], with fn's ctx or the Context of a [lock.Hold], lets other stores refuse late writes. The first call per lock
// costs one round trip and one command on its own key, "/fence" before the lock's name; the key expires a week after the last
// token.
//
// # A lock by itself
//
// [Store.WithLock], [Store.TryLock] and [Store.Lock] take the lock of a key for other work; a Store is a [lock.Locker]. A lock
// whose renewal fails is in jeopardy until the next one succeeds: see [lock.StateOf] and [Config.Observer]. [Config.LockDelay]
// keeps a lost lock from others for a while. [lock.SequencerOf] costs what a token costs, and [Store.Check] one round trip. A
// Store stores no [lock.WithData]: its lock passes from call to call of a process without a command, so data would be out of date.
//
// # Tracing
//
// A hook, such as redisotel's, sees a call's ctx values in commands of that call alone: acquire and read if no other waits, the
// commit of one, Read, Peek, Inspect, Token. Shared flushes and commits have the ctx of [Config.BatchContext], as has a commit
// that renews the lease along; other renewals, releases and hints have none.
//
// # Requirements
//
// A server with Lua (Redis 3.2 or later) or a compare-and-set; an ACL that allows [Config.RequiredCommands]; a proxy that
// neither repeats commands nor gives a key a second home while its server hangs (twemproxy's auto_eject_hosts); a ReadTimeout
// of go-redis that is not negative, as it ends the work of abandoned calls; miniredis v2.40.0 or later
// (measured: v2.17.0 misreads TYPE in scripts; v2.22.0 to v2.35.0 do not report a wrong kind).
package lockupdate
