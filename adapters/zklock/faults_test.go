package zklock_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/adapters/zklock"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

func nothing(context.Context) error { return nil }

// soon bounds the wait for what must happen.
const soon = 20 * time.Second

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, soon, 5*time.Millisecond, what)
}

// ends waits until a hold has ended.
func ends(t *testing.T, held lock.Hold) {
	t.Helper()
	eventually(t, "the hold ends", func() bool { return held.Context().Err() != nil })
}

// hold takes a lock and unlocks it at the end of the test at the latest, so that the Locker can be closed.
func hold(t *testing.T, l *process, name string) lock.Hold {
	t.Helper()
	held, err := l.Lock(t.Context(), name)
	require.NoError(t, err)
	t.Cleanup(func() { _ = held.Unlock() })
	return held
}

// bed is a ZooKeeper with a session of an operator.
type bed struct {
	members []*servers.Server
	admin   *zk.Conn
}

// nodes returns the nodes of a lock.
func (b bed) nodes(t *testing.T, l *process, name string) []string {
	t.Helper()
	children, _, err := b.admin.Children(zklock.NodeOf(l.Locker, name))
	if !errors.Is(err, zk.ErrNoNode) {
		require.NoError(t, err)
	}
	return children
}

// forgotten requires that neither the Locker nor ZooKeeper keeps a node of a lock.
func (b bed) forgotten(t *testing.T, l *process, name string) {
	t.Helper()
	eventually(t, "forgotten", func() bool { nodes, _ := zklock.Kept(l.Locker); return nodes == 0 })
	assert.Empty(t, b.nodes(t, l, name))
}

// The subtests are methods of a bed, so that one ZooKeeper serves all of them.
func TestLongOneServer(t *testing.T) {
	t.Parallel()
	members := servers.ZooKeeper(t, 1)
	b := bed{members, connect(t, members)}
	for name, test := range map[string]func(bed, *testing.T){
		"requests":                bed.countsRequests,
		"reply lost":              bed.losesReply,
		"server lags behind":      bed.searchesOnLaggingServer,
		"create is late":          bed.createsLate,
		"node of another session": bed.findsNodeOfAnotherSession,
		"session expires":         bed.losesSession,
		"deletion fails":          bed.failsToDelete,
		"no containers":           bed.hasNoContainers,
		"long name":               bed.refusesLongName,
		"timeout refused":         bed.refusesTimeout,
		"unreachable":             bed.findsNoServer,
		"server hangs":            bed.leavesServerThatHangs,
		"watches are shared":      bed.sharesWatches,
		"states":                  bed.tellsStates,
		"many holds":              bed.renewsMany,
		"acl":                     bed.keepsOthersOut,
		"stall":                   bed.stalls,
		"close in delay":          bed.closesInLockDelay,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time is the client's pause before it connects again
			test(b, t)
		})
	}
}

// still has a clock that stands, so that a slow machine asks for nothing twice.
func still() driver.Config {
	now := time.Now()
	return driver.Config{Lease: 30 * time.Second, Now: func() time.Time { return now }}
}

// The package's doc promises these numbers of requests.
func (b bed) countsRequests(t *testing.T) {
	l := open(t, b.members, zklock.Config{Config: still(), Root: "/counts"})
	require.NoError(t, l.WithLock(t.Context(), "a", nothing))
	assert.Equal(t, []int32{
		opCreate, opCreateContainer, opCreate, opCreateContainer, opCreate, opGetChildren, opExists, opDelete,
	}, l.takeCalls(), "first lock below Root")
	require.NoError(t, l.WithLock(t.Context(), "a", nothing))
	assert.Equal(t, []int32{opCreate, opGetChildren, opExists, opDelete}, l.takeCalls(), "uncontended")
	require.NoError(t, l.WithLock(t.Context(), "b", nothing))
	assert.Equal(t, []int32{opCreate, opCreateContainer, opCreate, opGetChildren, opExists, opDelete}, l.takeCalls(), "first use of a name")

	held := hold(t, open(t, b.members, zklock.Config{Root: "/counts"}), "a")
	require.ErrorIs(t, l.TryLock(t.Context(), "a", nothing), rmw.ErrContended)
	assert.Equal(t, []int32{opCreate, opGetChildren, opDelete}, l.takeCalls(), "TryLock of a held lock")

	waited := make(chan error, 1)
	go func() { waited <- l.WithLock(t.Context(), "a", nothing) }()
	var requests []int32
	collect := func(n int) func() bool {
		return func() bool {
			requests = append(requests, l.takeCalls()...)
			return len(requests) >= n
		}
	}
	eventually(t, "waits", collect(3))
	require.NoError(t, held.Unlock())
	require.NoError(t, <-waited)
	eventually(t, "released", collect(6))
	assert.Equal(t, []int32{opCreate, opGetChildren, opGetData, opGetChildren, opExists, opDelete}, requests, "one waiter")
}

// A lost reply to a creation neither blocks the lock nor makes a second node. One to a deletion leaves nothing behind.
func (b bed) losesReply(t *testing.T) {
	l := open(t, b.members, zklock.Config{Config: still()})
	require.NoError(t, l.WithLock(t.Context(), "reply", nothing))
	l.takeCalls()
	l.loseReply(opCreate)
	require.NoError(t, l.WithLock(t.Context(), "reply", func(context.Context) error {
		assert.Len(t, b.nodes(t, l, "reply"), 1)
		return nil
	}))
	assert.Equal(t, []int32{opCreate, opSync, opGetChildren, opGetChildren, opExists, opDelete}, l.takeCalls())
	l.loseReply(opDelete)
	require.NoError(t, l.WithLock(t.Context(), "reply", nothing))
	b.forgotten(t, l, "reply")
}

// After a lost reply, the client's next server may not know of the node before a sync.
func (b bed) searchesOnLaggingServer(t *testing.T) {
	l := open(t, b.members, zklock.Config{})
	require.NoError(t, l.WithLock(t.Context(), "lag", nothing))
	var created int
	var lags atomic.Bool
	fail(l, func(f *faulty) {
		f.create = func(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
			created++
			if _, err := f.client.Create(path, data, flags, acl); err != nil {
				return "", err
			}
			lags.Store(true)
			return "", zk.ErrConnectionClosed
		}
		f.children = func(path string) ([]string, *zk.Stat, error) {
			if lags.Load() {
				return nil, &zk.Stat{}, nil
			}
			return f.client.Children(path)
		}
		f.sync = func(path string) (string, error) {
			lags.Store(false)
			return f.client.Sync(path)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), soon) // in which it would wait for itself
	defer cancel()
	require.NoError(t, l.WithLock(ctx, "lag", nothing))
	assert.Equal(t, 1, created)
}

// A creation that is executed after its caller has given up leaves no node.
func (b bed) createsLate(t *testing.T) {
	l := open(t, b.members, zklock.Config{})
	require.NoError(t, l.WithLock(t.Context(), "late", nothing))
	asked, late := make(chan struct{}), make(chan struct{})
	fail(l, func(f *faulty) {
		f.create = func(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
			close(asked)
			<-late
			return f.client.Create(path, data, flags, acl)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() { waited <- l.WithLock(ctx, "late", nothing) }()
	<-asked
	cancel()
	require.ErrorIs(t, <-waited, context.Canceled)
	close(late)
	b.forgotten(t, l, "late")
}

// A node that belongs to an expired session is no lock: ZooKeeper is about to delete it.
func (b bed) findsNodeOfAnotherSession(t *testing.T) {
	l := open(t, b.members, zklock.Config{})
	fail(l, func(f *faulty) {
		f.exists = func(path string) (bool, *zk.Stat, error) {
			ok, stat, err := f.client.Exists(path)
			stat.EphemeralOwner++
			return ok, stat, err
		}
	})
	err := l.WithLock(t.Context(), "session", func(context.Context) error {
		assert.Fail(t, "fn was called")
		return nil
	})
	require.ErrorIs(t, err, rmw.ErrUnavailable)
	b.forgotten(t, l, "session")
}

// A hold ends with its session, although its node may still be there for a moment.
func (b bed) losesSession(t *testing.T) {
	l := open(t, b.members, zklock.Config{})
	require.NoError(t, l.WithLock(t.Context(), "expired", nothing))
	var expired atomic.Int64
	fail(l, func(f *faulty) { f.sessionID = func() int64 { return f.client.SessionID() + expired.Load() } })
	held := hold(t, l, "expired")
	expired.Store(1)
	l.Renew()
	ends(t, held)
	require.ErrorContains(t, context.Cause(held.Context()), "its ZooKeeper session has expired")
	assert.Len(t, b.nodes(t, l, "expired"), 1)
	require.ErrorIs(t, held.Unlock(), rmw.ErrLockLost)
}

// A node that could not be deleted lasts as long as the session. The next connection deletes it.
func (b bed) failsToDelete(t *testing.T) {
	l := open(t, b.members, zklock.Config{})
	var fails atomic.Bool
	fail(l, func(f *faulty) {
		f.deletes = func(path string, version int32) error {
			if fails.Load() {
				return zk.ErrConnectionClosed
			}
			return f.client.Delete(path, version)
		}
	})
	held := hold(t, l, "orphan")
	fails.Store(true)
	require.Error(t, zklock.Release(t.Context(), l.Locker, sequencer(t, held)))
	assert.Len(t, b.nodes(t, l, "orphan"), 1)
	fails.Store(false)
	zklock.Reconnect(l.Locker)
	b.forgotten(t, l, "orphan")
}

// A server before 3.5 has no containers.
func (b bed) hasNoContainers(t *testing.T) {
	l := open(t, b.members, zklock.Config{Root: "/old/root"})
	asked := 0
	fail(l, func(f *faulty) {
		f.createContainer = func(string, []byte, int32, []zk.ACL) (string, error) {
			asked++
			return "", errors.New("unknown error: -6")
		}
	})
	for range 3 {
		require.NoError(t, l.WithLock(t.Context(), "old", nothing))
	}
	assert.Equal(t, 1, asked)
	_, stat, err := b.admin.Exists(zklock.NodeOf(l.Locker, "old"))
	require.NoError(t, err)
	assert.Zero(t, stat.EphemeralOwner) // that of a container is the least number
}

func (b bed) refusesLongName(t *testing.T) {
	l := open(t, b.members, zklock.Config{})
	require.NoError(t, l.WithLock(t.Context(), strings.Repeat("n", 1024), nothing))
	err := l.WithLock(t.Context(), strings.Repeat("n", 64<<10), nothing)
	require.ErrorIs(t, err, rmw.ErrInvalid)
	require.ErrorContains(t, err, "the name has 65536 bytes; use at most 1024")
	assert.Less(t, len(err.Error()), 500)
	_, err = l.Inspect(t.Context(), strings.Repeat("n", 1025))
	require.ErrorIs(t, err, rmw.ErrInvalid)
}

// While a server hangs, requests whose callers have given up last no longer than a session.
func TestLongAbandonedRequestsEnd(t *testing.T) {
	long.Only(t)
	members := servers.ZooKeeper(t, 1)
	l := open(t, members, zklock.Config{Config: driver.Config{Lease: lease}})
	require.NoError(t, l.WithLock(t.Context(), "a", nothing))
	eventually(t, "forgotten", func() bool { nodes, _ := zklock.Kept(l.Locker); return nodes == 0 })
	before := runtime.NumGoroutine()
	require.NoError(t, members[0].Pause())
	defer func() { require.NoError(t, members[0].Resume()) }()
	began, most := time.Now(), 0
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		require.Error(t, l.WithLock(ctx, "a", nothing))
		cancel()
		most = max(most, runtime.NumGoroutine())
	}
	assert.Less(t, time.Since(began), 10*lease, "calls did not end with their ctx")
	assert.Greater(t, most, before+10)
	eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
	t.Logf("%d goroutines more for %v", most-before, time.Since(began))
}
