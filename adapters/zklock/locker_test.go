package zklock_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/adapters/zklock"
	"github.com/unwatch/unwatch/internal/docs/doccheck"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/lock/locktest"
)

// lease is short, so that tests of its end are.
const lease = 2 * time.Second

func addresses(members []*servers.Server) (all []string) {
	for _, s := range members {
		all = append(all, s.Addr)
	}
	return all
}

// open makes a Locker for the duration of the test.
func open(tb testing.TB, members []*servers.Server, cfg zklock.Config) *process {
	tb.Helper()
	w := &wire{counts: map[int32]int{}}
	if cfg.Dial == nil {
		cfg.Dial = w.dial
	}
	if cfg.Now == nil {
		cfg.Now = w.Now
	}
	if cfg.Lease == 0 {
		cfg.Lease = 20 * time.Second // a slow server may take a while to answer
	}
	l, err := zklock.New(addresses(members), cfg)
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, l.Close()) })
	return &process{l, w}
}

// connect makes a session of an operator.
func connect(tb testing.TB, members []*servers.Server) *zk.Conn {
	tb.Helper()
	admin, _, err := zk.Connect(addresses(members), 20*time.Second, zk.WithLogInfo(false), zk.WithLogger(silent{}),
		zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			c, err := net.DialTimeout(network, address, timeout)
			return &operatorConn{Conn: c}, err
		}))
	require.NoError(tb, err)
	tb.Cleanup(admin.Close)
	return admin
}

// operatorConn waits five seconds for the reply to the request for a session. The client waits ten times its timeout for
// reads, 133 s, and has not got the reply of a server that was restarted.
type operatorConn struct {
	net.Conn
	asked bool
}

func (c *operatorConn) SetReadDeadline(t time.Time) error {
	if !c.asked {
		c.asked, t = true, time.Now().Add(5*time.Second)
	}
	return c.Conn.SetReadDeadline(t)
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// takeAway deletes the node of a lock's holder: the one with the smallest number.
func takeAway(admin *zk.Conn, parent string) error {
	children, _, err := admin.Children(parent)
	if err != nil {
		return err
	}
	first := slices.MinFunc(children, func(a, b string) int { return slices.Compare([]byte(a[len(a)-10:]), []byte(b[len(b)-10:])) })
	return admin.Delete(parent+"/"+first, -1)
}

// A Locker over a real ZooKeeper passes the suite for Lockers.
func TestLongLocker(t *testing.T) {
	long.Only(t)
	t.Parallel()
	members := servers.ZooKeeper(t, 1)
	admin := connect(t, members)
	const lease = 4 * time.Second // the client waits for a second before it connects to its only server again
	locktest.Run(t, func(t *testing.T) locktest.Target { return target(t, members, admin, driver.Config{Lease: lease}) })
	with := func(cfg driver.Config) func(t *testing.T) locktest.Target {
		cfg.Lease = lease
		return func(t *testing.T) locktest.Target { return target(t, members, admin, cfg) }
	}
	locktest.Run(t, with(driver.Config{LockDelay: lease}), "dies", "lock-delay-returned", "runs")
	locktest.Run(t, with(driver.Config{MaxHold: 4 * lease}), "max-hold", "told-max-hold")
}

// A Locker over a real ZooKeeper passes the clauses that wait for no lease. So theirs outlasts the pauses of a busy machine.
func TestLocker(t *testing.T) {
	t.Parallel()
	members := servers.ZooKeeper(t, 1)
	admin := connect(t, members)
	l := open(t, members, zklock.Config{})
	for i := range 50 { // a JVM that has just started answers slowly
		require.NoError(t, l.WithLock(t.Context(), fmt.Sprint("warm", i), nothing))
	}
	locktest.RunQuick(t, func(t *testing.T) locktest.Target {
		return target(t, members, admin, driver.Config{Lease: 20 * time.Second})
	})
}

// A lock can be held for many leases.
func TestLongForEver(t *testing.T) {
	long.Only(t)
	t.Parallel()
	members := servers.ZooKeeper(t, 1)
	locktest.Run(t, func(t *testing.T) locktest.Target {
		endless := target(t, members, connect(t, members), driver.Config{Lease: 6 * time.Second}) // a hold counts on 3.6 s of it
		endless.Patience = 190 * time.Second
		return endless
	}, "for-ever")
}

// target is the subject of the suite.
func target(t *testing.T, members []*servers.Server, admin *zk.Conn, cfg driver.Config) locktest.Target {
	var all []*process
	last := func() *process { return all[len(all)-1] }
	observed := func(tb testing.TB, o lock.Observer) lock.Locker {
		mine := cfg
		mine.Observer = o
		all = append(all, open(tb, members, zklock.Config{Config: mine}))
		_, _ = last().Inspect(tb.Context(), "any") // begins the session, which takes a busy server longer than a request
		return last()
	}
	return locktest.Target{
		Open:      func(tb testing.TB) lock.Locker { return observed(tb, nil) },
		Observe:   observed,
		Reentrant: true,
		Tokens:    true,
		Lease:     cfg.Lease,
		LockDelay: cfg.LockDelay,
		MaxHold:   cfg.MaxHold,
		Ordered:   true,
		Queued:    func(name string) int { return len(bed{members, admin}.nodes(t, last(), name)) },
		Jeopardy:  true,
		Requests: func() (sum int) {
			for _, p := range all {
				sum += p.all()
			}
			return sum
		},
		Wanted:   true,
		Checks:   true,
		Inspects: true,
		Data:     true,
		Faults: locktest.Faults{
			TakeAway:  func(_ context.Context, name string) error { return takeAway(admin, zklock.NodeOf(last().Locker, name)) },
			Cut:       func(l lock.Locker) (restore func()) { return l.(*process).Cut() },
			Stall:     func(l lock.Locker, d time.Duration) { l.(*process).Stall(d) },
			LoseReply: func(l lock.Locker) func() { return l.(*process).LoseReplies() },
			Late:      func(l lock.Locker) func() { return l.(*process).Delay() },
			Reconnect: func(l lock.Locker) { l.(*process).Break() },
			Expire:    func(l lock.Locker) { require.NoError(t, l.(*process).expire(members)) },
			Restart: func() {
				require.NoError(t, members[0].Kill())
				require.NoError(t, members[0].Restart(t.Context()))
				eventually(t, "the operator's session goes on", func() bool { _, _, err := admin.Exists("/"); return err == nil })
			},
		},
	}
}

// The declarations and the skipped clauses are rows of the documentation.
func TestDocumentedRows(t *testing.T) {
	declared := target(t, nil, nil, driver.Config{Lease: lease, LockDelay: lease})
	require.NoError(t, doccheck.HasLines("../../docs/locks.md", declared.Row("ZooKeeper")))
	require.NoError(t, doccheck.HasLines("../../docs/results/locks.md", declared.Skipped("ZooKeeper")))
}
