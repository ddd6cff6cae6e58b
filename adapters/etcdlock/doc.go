// Package etcdlock is a [lock.Locker] over etcd, for sections that must stay exclusive during a failover of
// Redis: etcd loses no acknowledged write.
//
//	locker := etcdlock.New(client, driver.Config{Lease: 5 * time.Second})
//	defer locker.Close()
//	err := locker.WithLock(ctx, "invoices", func(ctx context.Context) error {
//		token, err := lock.Token(ctx)
//		...
//	})
//
// A holder that stalls past its lease may write after the next one has begun. For data in the same etcd, a
// transaction with [Guard] refuses that write. Any other store must refuse it by its [lock.Token]. The token
// is the etcd revision at which the owner asked for the lock, and costs nothing. A cluster restored from a
// snapshot repeats tokens, unless it was restored by etcdutl snapshot restore --bump-revision --mark-compacted.
//
// # Keys
//
// Each request for a lock is a key, in the order of creation. The first one holds the lock. Each waiter watches
// the key before its own, so that a release wakes one process, and waiters are served in the order of arrival.
// The value of a key is the data of [lock.WithData]. Release deletes the key.
//
// # One lease for all locks
//
// All locks and waiters of a Locker have one lease of etcd, which one request renews. So they are lost
// together. After the last release, the lease is kept for reuse: it holds no keys, and etcd ends it if nothing
// renews it. A lock that is taken within a quarter of a lease costs one request to take and one to release.
//
// A request that etcd executes after its caller gave up would create a key that the lease keeps alive. So the
// release of such a request changes another key of the lease, its barrier, and no request from before that
// change succeeds.
//
// [lock.EventWanted] is not sent: a holder would have to watch each lock. Inspect shows whether others wait.
//
// # Why not package concurrency of etcd
//
// A concurrency.Session counts a lease from the arrival of the reply, and checks twice a second: it may report
// a lock as held after another owner got it. Here each renewal counts from before it was sent, less a tenth.
package etcdlock
