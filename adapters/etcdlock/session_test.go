package etcdlock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unwatch/unwatch/adapters/etcdlock"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

const (
	txn       = "/etcdserverpb.KV/Txn"
	deletes   = "/etcdserverpb.KV/DeleteRange"
	grants    = "/etcdserverpb.Lease/LeaseGrant"
	revokes   = "/etcdserverpb.Lease/LeaseRevoke"
	keepAlive = "/etcdserverpb.Lease/LeaseKeepAlive"
)

// Locks that are taken one after the other share a lease: each costs one request to take and one to release. TryLock of a
// held lock costs one, and leaves no key behind that would hold up others.
func TestCost(t *testing.T) {
	t.Parallel()
	members := servers.Etcd(t, 1)
	p, other, admin := open(t, members, driver.Config{Lease: time.Minute}), open(t, members, driver.Config{}), connect(t, members).client
	_, err := p.client.Get(t.Context(), "connected") // the client repeats requests until it is
	require.NoError(t, err)
	for range 10 {
		require.NoError(t, p.WithLock(t.Context(), "a", nothing))
		require.NoError(t, p.TryLock(t.Context(), "b", nothing))
	}
	for method, want := range map[string]int{txn: 20, deletes: 20, grants: 1, revokes: 0, keepAlive: 0} {
		assert.Equal(t, want, p.count(method), method)
	}
	require.NoError(t, p.WithLock(t.Context(), "a", func(ctx context.Context) error {
		require.ErrorIs(t, other.TryLock(ctx, "a", nothing), rmw.ErrContended)
		assert.Equal(t, 1, other.count(txn))
		assert.Zero(t, other.count(deletes))
		assert.Len(t, keys(t, admin, "a"), 1)
		return nil
	}))
}

// A hundred locks and waiters are renewed by one request.
func TestOneRenewalForAll(t *testing.T) {
	t.Parallel()
	members := servers.Etcd(t, 1)
	p, other := open(t, members, driver.Config{Lease: time.Minute}), open(t, members, driver.Config{Lease: time.Minute})
	var holds []lock.Hold
	for i := range 100 {
		h, err := p.Lock(t.Context(), fmt.Sprint("held ", i))
		require.NoError(t, err)
		holds = append(holds, h)
	}
	first, err := other.Lock(t.Context(), "waited for")
	require.NoError(t, err)
	var waits sync.WaitGroup
	for range 10 {
		waits.Go(func() { assert.NoError(t, p.WithLock(t.Context(), "waited for", nothing)) })
	}
	before := p.count(keepAlive)
	for renewals := range 3 {
		p.Renew()
		until(t, "a renewal", func() bool { return p.count(keepAlive) > before+renewals })
	}
	assert.Equal(t, 1, p.count(grants))
	require.NoError(t, first.Unlock())
	waits.Wait()
	for _, h := range holds {
		require.NoError(t, h.Unlock())
	}
	assert.Equal(t, before+3, p.count(keepAlive))
}

// While etcd is unreachable, renewals pause between attempts.
func TestRenewalsPauseDuringAnOutage(t *testing.T) {
	t.Parallel()
	p := open(t, servers.Etcd(t, 1), driver.Config{Lease: 3 * time.Second})
	h, err := p.Lock(t.Context(), "a")
	require.NoError(t, err)
	restore := p.network.Cut()
	defer restore()
	until(t, "the hold ends", func() bool { return h.Context().Err() != nil })
	assert.ErrorIs(t, context.Cause(h.Context()), rmw.ErrLockLost)
	assert.Less(t, p.count(keepAlive), 20, "one for each sixteenth of a lease at most")
	require.ErrorIs(t, h.Unlock(), rmw.ErrLockLost)
}

// If etcd has ended the session, the next request begins another one. The locks of the first are lost at once,
// and the renewals of the second do not renew them.
func TestLocksOfAnEarlierSession(t *testing.T) {
	t.Parallel()
	members := servers.Etcd(t, 1)
	p, admin := open(t, members, driver.Config{Lease: time.Minute}), connect(t, members).client
	old, err := p.Lock(t.Context(), "old")
	require.NoError(t, err)
	defer func() { _ = old.Unlock() }()
	p.expire(admin)
	young, err := p.Lock(t.Context(), "young")
	require.NoError(t, err)
	select {
	case <-old.Context().Done():
	case <-time.After(10 * time.Second):
		t.Error("the lock of a session that has ended is held on")
	}
	require.ErrorIs(t, old.Unlock(), rmw.ErrLockLost)
	assert.NoError(t, young.Context().Err())
	require.NoError(t, young.Unlock())
	assert.Equal(t, 2, p.count(grants))
}

// A request that etcd executes after the release of its owner creates no key, although the session lives on.
func TestLateRequestsAreBarred(t *testing.T) {
	t.Parallel()
	members := servers.Etcd(t, 1)
	p, admin := open(t, members, driver.Config{Lease: time.Minute}), connect(t, members).client
	h, err := p.Lock(t.Context(), "other") // keeps the session
	require.NoError(t, err)
	defer func() { _ = h.Unlock() }()
	for _, call := range []func(context.Context, string, func(context.Context) error) error{p.WithLock, p.TryLock} {
		before := p.count(txn)
		deliver := p.late()
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() { result <- call(ctx, "a", nothing) }()
		until(t, "the request", func() bool { return p.count(txn) == before+1 })
		p.pass()
		cancel()
		require.ErrorIs(t, <-result, context.Canceled)
		until(t, "the release", func() bool { return p.count(txn) == before+2 })
		require.NoError(t, call(t.Context(), "b", nothing), "requests of the session work on")
		deliver()
		require.NoError(t, open(t, members, driver.Config{MaxWait: 10 * time.Second}).WithLock(t.Context(), "a", nothing))
		assert.Empty(t, keys(t, admin, "a"))
	}
	barriers, err := admin.Get(t.Context(), etcdlock.Prefix+"barrier/", clientv3.WithPrefix())
	require.NoError(t, err)
	assert.Len(t, barriers.Kvs, 1, "a session has one barrier for any number of late requests")
}

// A request whose reply was lost leaves nothing behind, nor does the grant of a lease. If an operator has revoked the lease
// of a session with a barrier, the next request begins another session: a free lock does not count as taken.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	members := servers.Etcd(t, 1)
	p, admin := open(t, members, driver.Config{Lease: time.Minute}), connect(t, members).client
	grantsOf := map[string]int{}
	for _, name := range []string{"first", "a"} { // the reply to the grant of the lease, and to the acquisition
		restore := p.loseReplies()
		require.ErrorIs(t, p.TryLock(t.Context(), name, nothing), rmw.ErrUnavailable, "its release sets the barrier")
		restore()
		until(t, "the release", func() bool { return len(keys(t, admin, name)) == 0 })
		require.NoError(t, p.TryLock(t.Context(), name, nothing))
		grantsOf[name] = p.count(grants)
	}
	assert.Equal(t, grantsOf["first"], grantsOf["a"])
	p.expire(admin)
	require.NoError(t, p.TryLock(t.Context(), "a", nothing))
	assert.Equal(t, grantsOf["a"]+1, p.count(grants))
}

// Check is one request, and refuses the sequencer of a waiter.
func TestCheckIsOneRequest(t *testing.T) {
	t.Parallel()
	members := servers.Etcd(t, 1)
	p, other, admin := open(t, members, driver.Config{}), open(t, members, driver.Config{}), connect(t, members).client
	waited := make(chan error, 1)
	require.NoError(t, p.WithLock(t.Context(), "a", func(ctx context.Context) error {
		go func() { waited <- p.WithLock(t.Context(), "a", nothing) }()
		until(t, "a waiter", func() bool { return len(keys(t, admin, "a")) == 2 })
		s, err := lock.SequencerOf(ctx)
		require.NoError(t, err)
		require.NoError(t, other.Check(ctx, s))
		assert.Equal(t, map[string]int{txn: 1}, other.methods)
		found, err := admin.Get(ctx, keys(t, admin, "a")[1])
		require.NoError(t, err)
		waiter := lock.Sequencer{Name: "a", Token: uint64(found.Kvs[0].CreateRevision)}
		waiter.Owner = strings.TrimPrefix(string(found.Kvs[0].Key), folder("a"))
		require.ErrorIs(t, other.Check(ctx, waiter), rmw.ErrLockLost)
		return nil
	}))
	require.NoError(t, <-waited)
}

// Guard lets a transaction pass while the lock is held, and no longer.
func TestGuard(t *testing.T) {
	t.Parallel()
	members := servers.Etcd(t, 1)
	p, admin := open(t, members, driver.Config{}), connect(t, members).client
	write := func(s lock.Sequencer) bool {
		resp, err := admin.Txn(t.Context()).If(etcdlock.Guard(s)).Then(clientv3.OpPut("data", s.String())).Commit()
		require.NoError(t, err)
		return resp.Succeeded
	}
	var stale lock.Sequencer
	require.NoError(t, p.WithLock(t.Context(), "a", func(ctx context.Context) (err error) {
		stale, err = lock.SequencerOf(ctx)
		require.NoError(t, err)
		assert.True(t, write(stale))
		for _, forged := range []lock.Sequencer{
			{Name: stale.Name, Owner: stale.Owner, Token: stale.Token - 1},
			{Name: stale.Name, Owner: stale.Owner},
			{Name: stale.Name, Token: stale.Token},
			{Name: stale.Name, Owner: "of another lock service"},
			{},
		} {
			assert.False(t, write(forged), "%+v", forged)
		}
		return nil
	}))
	assert.False(t, write(stale))
	assert.False(t, write(lock.Sequencer{Name: stale.Name, Owner: stale.Owner}), "a key that does not exist has revision 0")
	require.NoError(t, p.WithLock(t.Context(), "a", func(context.Context) error {
		assert.False(t, write(stale))
		return nil
	}))
}

// Inspect shows the rest of the lease and of the lock delay, and no waiters if there are none. A name of 64 KiB works.
func TestInspect(t *testing.T) {
	t.Parallel()
	p := open(t, servers.Etcd(t, 1), driver.Config{Lease: time.Minute, LockDelay: 30 * time.Second})
	name := strings.Repeat("\xff", 64<<10)
	require.NoError(t, p.WithLock(t.Context(), name, func(ctx context.Context) error {
		info, err := p.Inspect(ctx, name)
		assert.InDelta(t, 90, info.Left.Seconds(), 20)
		assert.False(t, info.Waiters) // TestLeaderChange looks for one
		return err
	}))
}

// A closed client is not an outage: no retry can help, also not for a call that waits.
func TestClosedClient(t *testing.T) {
	t.Parallel()
	members := servers.Etcd(t, 1)
	p, other := open(t, members, driver.Config{Lease: 2 * time.Second}), open(t, members, driver.Config{Lease: time.Minute})
	held, err := other.Lock(t.Context(), "held")
	require.NoError(t, err)
	waits := make(chan error, 1)
	go func() { waits <- p.WithLock(t.Context(), "held", nothing) }()
	require.Eventually(t, func() bool { return p.count(txn) > 1 }, 10*time.Second, time.Millisecond)
	require.NoError(t, p.client.Close())
	_, inspected := p.Inspect(t.Context(), "held")
	checked := p.Check(t.Context(), lock.Sequencer{Name: "held"})
	for _, err := range []error{<-waits, p.TryLock(t.Context(), "free", nothing), inspected, checked} {
		require.ErrorIs(t, err, rmw.ErrClosed)
		require.ErrorContains(t, err, "the etcd client was closed")
		require.False(t, rmw.Retryable(err))
	}
	require.NoError(t, held.Unlock())
}
