// Package redlock is a lock that survives the loss of a Redis server: a majority
// of several independent masters has to grant it.
//
//	locks := redlock.New([]redlock.Node{a, b, c}, redlock.Config{})
//	defer locks.Close()
//	err := locks.WithLock(ctx, "invoice-run", func(ctx context.Context) error { ... })
//
// # One lock
//
//  1. Send SET name owner NX PX lease to all nodes at once. The lock is ours if a
//     majority grants it, and counts from before the first SET: until then plus the
//     lease, less [Config.Drift], less a twentieth for fn to notice its end. If not,
//     the taken locks are given back, and after a random, growing delay another
//     attempt is made, by another owner.
//  2. Call fn. At each third of the lease, ask all nodes to prolong the lock if it is
//     still ours; a majority of them has to. A node that has lost it does not get
//     it back. A renewal that fails puts the lock into lock.Jeopardy, and is tried again.
//  3. If that does not succeed in time, by our monotonic clock, fn's ctx ends with cause [rmw.ErrLockLost].
//  4. Give the lock back on every node, if it is still ours there. The caller
//     waits for those that had granted it, and not beyond [Config.NodeTimeout].
//
// With N nodes that is N commands to take a lock and N to give it back, in one
// round trip each, to the slowest of the fastest majority. A lock that is taken
// costs N for each attempt, and one for each vote to give back.
//
// # Lost answers
//
// Each attempt is an owner of its own, so no late command of one can touch another.
// After a lost answer, a SET is sent once more, and if that is refused, the lock
// says whether it is ours. Because the first may be executed later still, the lock
// is then given back more than once, until a lease has passed. A SET that is not
// answered at all is given back on at once, again when the client gives up on it,
// and then likewise. The commands forbid go-redis to repeat them on its own.
//
// # What it does not promise
//
// It is a lock by time, not a fence. All of it rests on clocks that run about
// equally fast, and on a process that notices the time. A process that is stopped,
// by its garbage collector, its hypervisor or its network, while its lease runs
// out, does not know that it has lost the lock, and its writes may arrive
// after the next holder's writes (Kleppmann, "How to do distributed locking",
// 2016). There is no token here by which a store could refuse them:
// [lock.Token] returns [rmw.ErrUnsupported].
//
// A node that crashes and comes back without the locks it had granted (no
// appendfsync always) can grant the same lock twice, and so make a second
// majority. So start a crashed node again only after the longest lease in use has
// passed. A replica that takes over forgets in the same way: the nodes must be
// independent masters.
//
// # When to use it
//
// Use it to do something once that would be a waste to do twice, where one Redis
// server is too little to rely on: a nightly run, an upload, a mail. Do not use it
// to protect data: a store's own check at the moment of the write does that, as
// the guarded commit of lockupdate.Store, and then a simple lock on one server is
// cheaper and as good. If you have etcd, ZooKeeper or a database at hand, their
// locks come with a token.
//
// It needs Redis 2.6.12 or later, and no proxy: each client must reach one server.
package redlock
