// Package lock is the contract of a lock that several processes share: the
// [Locker] interface and the fencing [Token]. All locks of this module implement
// it, so that a program changes its lock service by one line.
//
//	var locks lock.Locker = lockupdate.New(rdb, lockupdate.Config{})
//	err := locks.WithLock(ctx, "invoice:7", func(ctx context.Context) error {
//		token, err := lock.Token(ctx)
//		...
//	})
//
// # What a lock is
//
// A lock is a name. A lock service, such as Redis or etcd, grants the lock to one
// holder at a time, for the time of a lease. The Locker renews the lease while fn
// runs. The lock ends when fn has ended, or when its lease ends first: the process
// crashed, was stopped, or could not reach the service. fn's ctx ends with the lock.
//
// # What a lock is not
//
// A lock is no licence to write. A process can stall between its last look at ctx
// and its write: for a garbage collection, on a suspended machine, in a slow
// network. The lease ends meanwhile, and the next holder writes. Then the late
// write arrives and overwrites the newer one. No lock service can prevent that.
//
// Only the store that is written to can refuse a late write. There are two ways:
//
//   - A guard: the write takes effect only if the store still holds the value that the
//     holder has read. Update of a lockupdate.Store does this in Redis.
//   - A fencing token: a number that grows from holder to holder. The store remembers
//     the greatest token it has seen, and refuses a write with a smaller one.
//
// Without either, use a lock only for work that may be done twice.
//
// # Lockers
//
//   - lockupdate.Store: one Redis, also behind a proxy. Reentrant, no data. The first Token
//     under a lock costs one round trip, and a key of its own: "/fence" before the
//     lock's name. The key expires a week after its last token; tokens then go on
//     from the clock, and do not fall back unless the clock does.
//   - redlock.Locker: a majority of independent Redis masters. Reentrant, no tokens.
//   - etcdlock.Locker, in the module adapters/etcdlock: etcd. Reentrant. A token
//     is a revision of etcd, and costs nothing.
//   - zklock.Locker, in the module adapters/zklock: ZooKeeper. Reentrant. A token is the
//     transaction id of the node of the holder, and is read with each grant.
//   - sqllock.Locker, in the module adapters/sqllock: a table of PostgreSQL, MySQL, MariaDB
//     or SQLite. Reentrant. A token costs nothing. For data in the same database, its Guard
//     makes exclusion certain.
//   - locktest.Memory: the memory of one process, for unit tests.
//
// Package locktest has the suite that all of them pass.
package lock
