// Package zklock is a [lock.Locker] over ZooKeeper, for sections that must stay exclusive while servers
// fail: a majority of the servers has persisted each grant before it counts.
//
//	locker, err := zklock.New([]string{"zk1", "zk2", "zk3"}, zklock.Config{})
//	...
//	defer locker.Close()
//	err = locker.WithLock(ctx, "invoices", func(ctx context.Context) error {
//		token, err := lock.Token(ctx)
//		...
//	})
//
// The Locker guards no values: a holder that stalls past its lease may write after the next one has begun.
// The store must refuse that write by its [lock.Token]. The token is the transaction id (czxid) of the
// holder's node. It grows over restarts and failovers, but not over the restore of an old snapshot.
//
// # Nodes
//
// A lock is a container node, [Config].Root and the lock's name in hexadecimal, which ZooKeeper deletes
// when it has been empty for a minute. Servers before 3.5 have no containers; there the node stays. Each
// request makes an ephemeral sequential node in it, named by the owner and ten digits. The node with the
// lowest number holds the lock. Each waiter watches the node directly before its own, so a release wakes one
// waiter, and waiters are served in the order of arrival. The data of [lock.WithData] is that of the node.
//
// The watch is one of getData, as in Curator. A watch of exists on a node that has just been deleted would
// stay at the server for ever, since its name never comes again.
//
// If the reply to a creation is lost, the Locker synchronizes its server with the leader, looks for the
// owner among the nodes, and creates the node again only if it is not there.
//
// # Round trips
//
// An uncontended lock costs four requests, one after the other: create, getChildren, exists and delete.
// create and delete wait for a majority. The first use of a name costs two more, for the container. A
// waiter adds getData when it begins to wait, and getChildren when it is woken. A TryLock of a held lock costs
// three: create, getChildren, delete. Locks that are held cost one request at each fifth of the lease,
// whatever their number, and one getChildren each until another process waits for them.
//
// # Session and lease
//
// A Locker has a session of its own for all of its locks. The client neither shows the session timeout
// that ZooKeeper has granted, nor lets two users of a [zk.Conn] follow the states of its session. A session
// of its own also means that Close ends no locks of another Locker.
//
// The session timeout is Config.Lease plus Config.LockDelay. The Locker reads the granted timeout from
// ZooKeeper's answer, and refuses any other than it has asked for, with rmw.ErrInvalid. With a LockDelay, Close
// leaves the session to its timeout if a lost lock has not had its delay.
//
// A process that crashes keeps its locks for the session timeout, and one tick more at most. A hold counts
// on three fifths of Config.Lease. ZooKeeper's leader may not know of the rest: a member reports the
// requests of its sessions to the leader each half tick, and its last report is lost if the member dies. So
// a lease counts from an earlier request, which is a quarter of the session timeout old, or from the
// connection, for which the leader was asked. The tick of the servers must be at most half of the session
// timeout, as ZooKeeper itself requires by default.
//
// A renewal is a transaction that checks all nodes of the Locker, and a majority has to confirm it. A read
// is no renewal: a member that is cut off from its leader answers reads while the leader ends the session.
//
// A lost connection puts all locks of the Locker into jeopardy at once, an expired session ends all of
// them, and a deleted node ends its lock at the next renewal.
//
// # Requests without a ctx
//
// The requests of the client know no ctx. If a ctx ends first, the call returns, and the request goes on in
// a goroutine until ZooKeeper has answered or the client has noticed the loss of the connection: about a
// session timeout at most.
package zklock
