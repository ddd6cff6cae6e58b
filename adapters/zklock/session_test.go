package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/adapters/zklock"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

func TestInvalidConfig(t *testing.T) {
	for text, cfg := range map[string]zklock.Config{
		"Config.Lease is 1ns":      {Config: driver.Config{Lease: 1}},
		"use at most 40s":          {Config: driver.Config{Lease: 1000 * time.Hour}},
		`Config.Root is "locks"`:   {Root: "locks"},
		"Config.LockDelay is -1ns": {Config: driver.Config{LockDelay: -1}},
	} {
		_, err := zklock.New([]string{"127.0.0.1:1"}, cfg)
		require.ErrorIs(t, err, rmw.ErrInvalid)
		require.ErrorContains(t, err, text)
	}
	_, err := zklock.New(nil, zklock.Config{})
	require.ErrorIs(t, err, rmw.ErrUnavailable)
}

// A session of another timeout than the lease counts on is no session.
func (b bed) refusesTimeout(t *testing.T) {
	for asked, granted := range map[time.Duration]string{400 * time.Millisecond: "500ms", 11 * time.Minute: "10m0s"} {
		l := open(t, b.members, zklock.Config{Config: driver.Config{Lease: asked}})
		var err error
		eventually(t, "refused", func() bool {
			err = l.WithLock(t.Context(), "refused", nothing)
			return !errors.Is(err, rmw.ErrUnavailable) // a busy server may not answer within 400 ms
		})
		require.ErrorIs(t, err, rmw.ErrInvalid)
		require.ErrorContains(t, err, "grants a session of "+granted+" instead of "+asked.String()+"; set Config.Lease")
	}
}

func (b bed) findsNoServer(t *testing.T) {
	l, err := zklock.New([]string{"127.0.0.1:1"}, zklock.Config{Config: driver.Config{Lease: 100 * time.Millisecond}})
	require.NoError(t, err)
	require.ErrorIs(t, l.WithLock(t.Context(), "a", nothing), rmw.ErrUnavailable)
	require.NoError(t, l.Close())
	require.ErrorIs(t, l.WithLock(t.Context(), "a", nothing), rmw.ErrClosed)
}

// A server that accepts connections and grants no session does not use up the session timeout.
func (b bed) leavesServerThatHangs(t *testing.T) {
	hangs, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = hangs.Close() }()
	var dialed atomic.Int32
	l := open(t, b.members, zklock.Config{
		Config: driver.Config{Lease: 16 * time.Second},
		Dial: func(network, address string, timeout time.Duration) (net.Conn, error) {
			if dialed.Add(1) == 1 {
				address = hangs.Addr().String()
			}
			return net.DialTimeout(network, address, timeout)
		},
	})
	require.NoError(t, l.WithLock(t.Context(), "hangs", nothing))
	assert.EqualValues(t, 2, dialed.Load())
}

// Waiters that give up leave one watch for each node that they waited for, and none for long.
func (b bed) sharesWatches(t *testing.T) {
	holder, waiter := open(t, b.members, zklock.Config{}), open(t, b.members, zklock.Config{})
	for range 3 {
		held := hold(t, holder, "watch")
		before := waiter.count(opGetData)
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			waited := make(chan error, 1)
			go func() { waited <- waiter.WithLock(ctx, "watch", nothing) }()
			eventually(t, "waits", func() bool { return len(b.nodes(t, holder, "watch")) == 2 })
			eventually(t, "watches", func() bool { return waiter.count(opGetData) > before })
			cancel()
			require.ErrorIs(t, <-waited, context.Canceled)
			eventually(t, "gone", func() bool { return len(b.nodes(t, holder, "watch")) == 1 })
		}
		assert.Equal(t, before+1, waiter.count(opGetData))
		require.NoError(t, held.Unlock())
	}
	nodes, kept := zklock.Kept(waiter.Locker)
	assert.Zero(t, nodes)
	assert.Equal(t, 1, kept)
}

// A lost connection is jeopardy at once, and the next connection ends it.
func (b bed) tellsStates(t *testing.T) {
	l := open(t, b.members, zklock.Config{Config: still()}) // no renewal becomes due
	held := hold(t, l, "states")
	assert.Equal(t, lock.Safe, lock.StateOf(held.Context()))
	restore := l.Cut()
	eventually(t, "jeopardy", func() bool { return lock.StateOf(held.Context()) == lock.Jeopardy })
	restore()
	eventually(t, "safe", func() bool { return lock.StateOf(held.Context()) == lock.Safe })
}

// The creator's ACL keeps others out. They are told why.
func (b bed) keepsOthersOut(t *testing.T) {
	cfg := zklock.Config{Root: "/private", ACL: zk.AuthACL(zk.PermAll), Digest: "jobs:secret"}
	l := open(t, b.members, cfg)
	require.NoError(t, l.WithLock(t.Context(), "a", nothing))
	zklock.Reconnect(l.Locker)
	require.NoError(t, l.WithLock(t.Context(), "a", nothing))
	_, err := b.admin.Create("/private/other", nil, 0, zk.WorldACL(zk.PermAll))
	require.ErrorIs(t, err, zk.ErrNoAuth)

	cfg.Digest = ""
	err = open(t, b.members, cfg).WithLock(t.Context(), "b", nothing)
	require.ErrorIs(t, err, rmw.ErrInvalid)
	cfg.ACL = nil
	err = open(t, b.members, cfg).WithLock(t.Context(), "a", nothing)
	require.ErrorIs(t, err, rmw.ErrInvalid)
	require.ErrorContains(t, err, "see Config.Digest")
	cfg.Digest = "jobs:secret"
	require.NoError(t, open(t, b.members, cfg).WithLock(t.Context(), "a", nothing))
}

// Close does not end the lock delay of a lost lock. Without a delay, it frees the lock.
func (b bed) closesInLockDelay(t *testing.T) {
	for name, delay := range map[string]time.Duration{"delay": 10 * time.Second, "no delay": 0} {
		l := open(t, b.members, zklock.Config{Config: driver.Config{Lease: 20 * time.Second, LockDelay: delay}})
		held := hold(t, l, name)
		l.Stall(15 * time.Second)
		require.ErrorIs(t, held.Unlock(), rmw.ErrLockLost)
		require.NoError(t, l.Close())
		if err := open(t, b.members, zklock.Config{}).TryLock(t.Context(), name, nothing); delay > 0 {
			require.ErrorIs(t, err, rmw.ErrContended)
		} else {
			require.NoError(t, err)
		}
	}
}

// After a stop of the process, the leader may not have heard of the session for long. The Locker
// asks it before it counts on the session.
func (b bed) stalls(t *testing.T) {
	l := open(t, b.members, zklock.Config{Config: driver.Config{Lease: 20 * time.Second}})
	require.NoError(t, l.WithLock(t.Context(), "stall", nothing))
	l.take()
	l.Stall(15 * time.Second)
	require.NoError(t, l.WithLock(t.Context(), "stall", nothing))
	assert.Equal(t, []int32{opCreate, opGetChildren, opExists, opMulti}, l.take()[:4])
	assert.EqualValues(t, 2, l.connections.Load())
}

// One request renews all holds, once: the lease is long. A node that is gone ends its own hold only.
func (b bed) renewsMany(t *testing.T) {
	const many = 100
	l := open(t, b.members, zklock.Config{Config: driver.Config{Lease: 10 * time.Minute}})
	var all []lock.Hold
	for i := range many {
		all = append(all, hold(t, l, fmt.Sprint("many", i)))
	}
	renew := func(holds int) (checks, requests int) {
		before := l.count(opGetChildren)
		checks, requests = l.count(opMulti), l.all()
		l.Renew()
		eventually(t, "renewed", func() bool { return l.count(opGetChildren) >= before+holds })
		return l.count(opMulti) - checks, l.all() - requests
	}
	checks, requests := renew(many)
	assert.Equal(t, 1, checks)
	assert.Equal(t, 1+many, requests)

	require.NoError(t, takeAway(b.admin, zklock.NodeOf(l.Locker, "many7")))
	checks, _ = renew(many - 1)
	assert.Equal(t, 2, checks)
	ends(t, all[7])
	require.ErrorIs(t, context.Cause(all[7].Context()), rmw.ErrLockLost)
	for i, held := range all {
		assert.Equal(t, i == 7, held.Context().Err() != nil, i)
	}
}
