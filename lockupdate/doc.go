// Package lockupdate is the new path of an update: a lock, a read, fn, and a
// guarded commit, all with single-key commands that a Codis-style proxy lets
// through. It needs no WATCH, no MULTI, no pub/sub and no command on two keys.
//
//	store := lockupdate.New(rdb, lockupdate.Config{})
//	defer store.Close()
//	_, err := store.Update(ctx, rmw.Key{Name: "room:7"}, fn)
//
// # One update
//
//  1. Join the line for the key in this process. Whoever is first has the Store
//     take the lock and read the value: two scripts in one round trip. If another
//     process has the lock, it is asked for again: when it is likely to be free,
//     then after random, growing pauses, and no later than the holder's lease can
//     end. However many wait here, there is one poll.
//  2. Call fn, with a ctx that is cancelled with cause [rmw.ErrLockLost] before
//     the lease can end. Meanwhile one loop per Store renews its leases at half,
//     those that are due together in one flush.
//  3. Commit in one round trip: a script that writes only if the key still holds
//     what fn was given, and otherwise returns what it holds, so that fn can be
//     called again without another read.
//  4. Answer. The lock is released behind the caller's back, one more command,
//     once the commit was answered or given up.
//
// Uncontended that is 2 round trips before the answer and 4 commands in all.
// Commands of concurrent updates of different keys share round trips.
//
// # A contended key
//
// Updates that wait for the same key in one process follow each other without
// Redis: each fn is called, on its caller's goroutine, with what the one before
// returned, and one commit writes it for all of them. While it is on the way, the
// next group forms on top of it. Nobody is answered before the commit that holds
// its value. If that is refused, all that was built on the wrong value runs again;
// an error, a panic or a runtime.Goexit of one fn concerns its caller alone. A
// slow fn does not keep those before it waiting for longer than a millisecond.
// [Config.NoCombining] gives each update a commit of its own.
//
// Between processes the lock is fair: whoever polls leaves a note in it, the
// holder finds it after 10 ms at the latest, gives the lock back, and stays away
// until the others have asked again. A lock that another program of the same
// layout holds gets no note.
//
// # Locks shared with Redisson
//
// A lock is a hash of its owner and a count, as Redisson's RLock has it. With the same
// name, see [Config.LockName], a Store and a Redisson exclude each other. A Redisson that
// waits sleeps until a message comes or the lease ends that it saw. By default a Store
// publishes nothing, so that this Redisson tries again up to a whole [Config.Lease] after
// the lock was released. [Config.NotifyRedisson] publishes the release. It works where
// Redisson can subscribe: on Redis itself, by Sentinel or not, on a Redis Cluster before 7.0,
// where Redisson uses no sharded channels, and behind predixy, of which a pool of several
// groups needs HashTag "{}". Codis, twemproxy, camellia and Envoy refuse SUBSCRIBE, and
// Alibaba's proxy refuses PUBLISH in a script.
//
// # Why it is safe
//
// The guard is the safety; the lock is the queue. A holder that stalls past its
// lease, a lock that a failover forgot, a read that ran before its lock: each
// makes two writers work at once, and the guard then lets one of them through
// and sends the other round again. Because check and write are one script on one
// key, no proxy, pipeline or slot move comes between them. Writers that use WATCH
// on the same key (package cas) are seen by the guard just as well.
//
// Of a hash, the guard compares the fields that fn has read or set or removed, as far
// as fn uses [rmw.Value.Field], With and Without, or [rmw.HashOf]; whoever looks at all
// fields goes by all of them. So services that share a hash, each with its fields, do
// not make each other's fn run again, and only fields that fn has changed are written.
// Result tells what the key held when it was written, other people's fields included.
//
// # Lost answers
//
// The scripts for taking, renewing and releasing recognise their own owner, so
// they are sent again when an answer is lost. A proxy may execute a command after
// its client was told that it failed, so the lock of an acquire that got lost is
// released again, until a lease has passed.
//
// A commit is sent once. If its answer is lost, that is an
// [rmw.ErrOutcomeUnknown]: sent again, it could be acknowledged, and the first one
// be executed after that, on a value that has come back to what it expects.
// Looking whether it is stored would not help, as another writer may have stored
// the same; [Config.SoleWriter] rules that out, and then it is looked for. The
// commands forbid go-redis to repeat them on its own.
//
// # Without Lua
//
// Where there are no scripts, as on Pika, [Config.Commit] names the server's own
// compare-and-set; [Probe] finds out which there is. The guard is the same, and so are
// the round trips. Values are strings only: a Key of KindHash is refused with
// [rmw.ErrUnsupported]. The lock is a string, SET … NX PX, renewed and deleted only
// where it still names its owner; the note of those who wait is a key of its own,
// "/wait" before the lock's name. A refused commit takes another round trip to read the
// value, and [Store.Peek] takes three. A store with neither cannot be written safely,
// and no Commit pretends to.
//
// # Tracing
//
// A hook of the client, such as redisotel's, sees a caller's ctx values with the commands
// that are sent for that caller alone: the acquire and the read if no other call waits
// for the same lock, the commit if it writes one update, Read, Peek, Inspect and Token.
// What several callers share carries no values: commands of concurrent calls in one
// flush, a commit of several updates. Nor do commands that follow a call:
// renewals, releases and the notes of waiting processes.
//
// # Requirements
//
// A server with Lua, Redis 3.2 or later, or with a compare-and-set; and a proxy that
// does not repeat commands on its own, nor gives a key a second home while its server
// hangs (auto_eject_hosts of twemproxy): no client can put two values together again.
// What is sent is what [Config.RequiredCommands] lists; an ACL must allow it all. go-redis must
// not be configured with a negative ReadTimeout (no limit): the work behind a call that
// was given up ends with it. Of miniredis, v2.23.0 is the oldest on which the scripts
// are known to work; v2.17.0 misreads what TYPE returns to them.
package lockupdate
