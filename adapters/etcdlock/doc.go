// Package etcdlock is a [lock.Locker] over etcd, for sections that must stay exclusive also while
// a Redis fails over: etcd loses nothing that it has acknowledged.
//
//	locker := etcdlock.New(client, 5*time.Second)
//	defer locker.Close()
//	err := locker.WithLock(ctx, "invoices", func(ctx context.Context) error {
//		token, err := lock.Token(ctx)
//		...
//	})
//
// It guards no values: a holder who stands still past its lease may write after another has begun,
// which the store that is written to has to refuse, by [lock.Token]. The token is the revision of
// etcd at which the lock was granted, and costs nothing. A cluster that was restored from a snapshot
// gives out tokens again, unless it was restored by etcdutl snapshot restore --bump-revision
// --mark-compacted.
//
// A lock is a [concurrency.Mutex] of its own lease: a Grant, a Txn and, at the end, a Revoke,
// each of which most of the members have on their disks before it is answered. Whoever waits is
// told by a watch, in the order of arrival.
//
// # Why not the session's own end
//
// A [concurrency.Session] counts a lease from when the answer came, and looks twice a second: it
// may call a lock held that another has. Here each renewal counts from before it was sent, less
// a tenth.
package etcdlock
