// Package etcdlock is a [lock.Locker] over etcd, for sections that must stay exclusive during a failover of
// Redis: etcd loses no acknowledged write.
//
//	locker := etcdlock.New(client, 5*time.Second)
//	defer locker.Close()
//	err := locker.WithLock(ctx, "invoices", func(ctx context.Context) error {
//		token, err := lock.Token(ctx)
//		...
//	})
//
// The Locker guards no values: a holder that stalls past its lease may write after the next one has begun.
// The store must refuse that write by its [lock.Token]. The token is the etcd revision at which the lock
// was granted, and costs nothing. A cluster restored from a snapshot repeats tokens, unless it was restored
// by etcdutl snapshot restore --bump-revision --mark-compacted.
//
// A lock is a [concurrency.Mutex] with its own lease: a Grant, a Txn and, at the end, a Revoke, each of
// which a majority of the members persists before the answer. Waiters are served in the order of arrival,
// by a watch.
//
// # Why not concurrency.Session
//
// A [concurrency.Session] counts a lease from the arrival of the reply, and checks twice a second: it may
// report a lock as held after another owner got it. Here each renewal counts from before it was sent, less
// a tenth.
package etcdlock
