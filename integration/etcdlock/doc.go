// Package etcdlock is a lock of etcd behind the interface of package locktest. It shows what a
// service gets that takes its locks from a store which loses nothing it has acknowledged.
//
// A lock is a [concurrency.Mutex] of its own lease: a Grant, a Txn and, at the end, a Revoke,
// each of which most of the members have on their disks before it is answered. Whoever waits is
// told by a watch.
//
// # Why not the session's own end
//
// A [concurrency.Session] counts a lease from when the answer came, and looks twice a second: it
// may call a lock held that another has. Here each renewal counts from before it was sent, less
// a tenth.
package etcdlock
