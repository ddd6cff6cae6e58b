// Package torture tries to make the stores lose an update, and checks that they lose none.
//
// A run is a table of cells. Each cell has a [Topology], real servers behind relays; a [Nemesis], which
// injects faults repeatedly while the cell lasts; and a fleet: processes that update the same few keys,
// each with its own client.
//
// # Promises and checks
//
// Every update adds a unique id. The final state therefore shows for each update whether it was executed,
// how often, and in which order:
//
//   - an acknowledged id is stored exactly once,
//   - an id of a failed update is not stored: "not written" is a promise,
//   - an id with an unknown outcome is stored at most once,
//   - each acknowledged update received exactly the result of those before it,
//   - the order agrees with time: an operation follows all operations that returned before it
//     began. That is linearizability; [porcupine] decides it over updates and reads,
//     with the unknown outcomes left open,
//   - at the end no lock is without an expiry, and no goroutine of a store is left.
//
// A counter has no ids. The check compares its sum, requires that no two updates report the same number,
// and that it never decreases. Each process also works with locks ([Works]):
//
//   - a section lasts until its ctx was last seen active: no two of one lock overlap,
//     and a nested one starts at once,
//   - a store outside Redis that checks the fencing token loses no update, even if Redis
//     forgets the lock,
//   - completed transfers under the locks of two keys have one order in all keys,
//   - the rules of the desk hold after the cleanup of crashed work.
//
// # Cut-overs
//
// In a topology as old>codis each process uses a [github.com/unwatch/unwatch/cutover.Store] over two
// stores, and flips every two seconds between Copying and Reverse, at its own times. So keys move in both
// directions during the whole cell. Two further processes, one with WATCH, know the old store only. Each
// fault strikes one store, chosen at random. The final state is read through a store that moves nothing
// but completes moves that are half done. A cell in which no key has moved there and back fails. Such
// cells have no sections and transfers.
//
// # Bank
//
// In a cell such as redis/bank/cut each process transfers money between 2 to 8 of 12 accounts by [rmw.Transact], updates single
// accounts, reads all of them as of one moment, and books seats with a record and an index. Half of the accounts are hashes. Each
// update adds its id to all of its accounts, so that the final lists tell the order of all updates:
//
//   - the sum of all accounts is the same in every read and at the end,
//   - an id is in all accounts of its update or in none, and bookings, seats, records and the index agree,
//   - one order explains all updates and reads, and agrees with time: strict serializability,
//   - at the end each key can be read by GET or HGETALL, after a Store has touched those that are sealed.
//
// Between two stores, each process brings the keys of an update to one of them. At the end a sweep of both stores opens what is
// sealed, and a Verify must find no key in a wrong state. The two processes of the old server are refused the keys that have moved.
//
// # Negative controls
//
// A [Control] is a store with a common defect. A run that does not detect each of them has proven nothing,
// and fails.
//
// # Losses of Redis
//
// A failover loses data that was not replicated, with any client. Such losses are counted, and fail no run.
// A [Mitigation] is a measure against them. It runs beside a fleet without one in the same environment, so that
// both get the same faults, and its losses are counted likewise.
//
// # Isolation
//
// In a cell of isolation, the keys of each store are on several servers, one of which stands still, dies or answers late. The
// keys of the other servers must keep 90 % of their throughput, as compared with plain GET and SET at the same time, and
// sections of such names their locks. Throughput is a ratio, since a busy machine is slow.
//
// # Load
//
// A cell with the nemesis "load" has no faults, and runs alone. Many goroutines of four stores update many keys over
// few connections: evenly chosen keys, a Zipf distribution, then one key for all. Some hold locks for longer than a
// lease. Each promise is a [Row]:
//
//   - no update fails, and no lease is lost,
//   - heap and goroutines do not grow. They are measured while no call is in flight, after a third of the load and at
//     its end, since calls in flight have goroutines and buffers, more of them on a busy machine,
//   - the stores have no more connections than configured,
//   - no caller waits longer than a lock takes to expire, and no lock of the one key ends by its lease,
//   - each store takes its turns with the one key, and each goroutine gets a fair share. Turns are counted in the value
//     itself, so that they do not depend on the speed of the machine,
//   - Close waits for running functions, and ends waiting calls without a write; after it no lock is left on the
//     servers, no goroutine and no connection.
//
// # Lock services
//
// Locks of Redlock, etcd, ZooKeeper and PostgreSQL are played without values of Redis. Overlapping holders are
// counted, and late writes: those to a store outside the lock service by a process that was not seen to hold the lock
// since another process entered, after that one wrote. Each write is offered to a store with and without a token
// check. An overlap in etcd, ZooKeeper or PostgreSQL fails the run, unless an asynchronous replica was promoted,
// which may have lost the lock. A late write that passes the token check always fails it.
//
// # Randomness
//
// All random choices come from one seed. Timing does not: with the same seed the nemeses inject the same
// faults in the same order, but servers and goroutines vary.
//
// [porcupine]: https://github.com/anishathalye/porcupine
package torture
