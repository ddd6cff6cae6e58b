package etcdlock_test

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/docs/doccheck"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/lock/locktest"
)

// A Locker over a real etcd passes the clauses that wait for no lease. So theirs outlasts the pauses of a busy machine.
func TestLocker(t *testing.T) {
	t.Parallel()
	members := servers.Etcd(t, 1)
	admin := connect(t, members).client
	locktest.RunQuick(t, func(t *testing.T) locktest.Target {
		return target(t, members, admin, driver.Config{Lease: 20 * time.Second})
	})
}

// A lock can be held for many leases.
func TestLongForEver(t *testing.T) {
	t.Parallel()
	long.Only(t)
	members := servers.Etcd(t, 1)
	locktest.Run(t, func(t *testing.T) locktest.Target {
		endless := target(t, members, connect(t, members).client, config())
		endless.Patience = 190 * time.Second
		return endless
	}, "for-ever")
}

// A Locker over a real etcd passes the suite for Lockers.
func TestLongLocker(t *testing.T) {
	t.Parallel()
	long.Only(t)
	members := servers.Etcd(t, 1)
	admin := connect(t, members).client
	locktest.Run(t, func(t *testing.T) locktest.Target { return target(t, members, admin, config()) })
	locktest.Run(t, func(t *testing.T) locktest.Target {
		cfg := config()
		cfg.MaxHold = 4 * cfg.Lease
		return target(t, members, admin, cfg)
	}, "max-hold", "told-max-hold")
}

func config() driver.Config { return driver.Config{Lease: 6 * time.Second, LockDelay: time.Second} }

// target is the subject of the suite.
func target(t *testing.T, members []*servers.Server, admin *clientv3.Client, cfg driver.Config) locktest.Target {
	var all []*process
	observed := func(tb testing.TB, o lock.Observer) *process {
		mine := cfg
		mine.Observer = o
		p := open(tb, members, mine)
		all = append(all, p)
		return p
	}
	return locktest.Target{
		Open:    func(tb testing.TB) lock.Locker { return observed(tb, nil) },
		Observe: func(tb testing.TB, o lock.Observer) lock.Locker { return observed(tb, o) },
		Share: func(tb testing.TB) (a, b lock.Locker) {
			one := observed(tb, nil)
			two := &process{client: one.client}
			two.start(tb, cfg)
			return one, two
		},
		Requests: func() (sum int) {
			for _, p := range all {
				sum += p.count()
			}
			return sum
		},
		Reentrant: true,
		Tokens:    true,
		Session:   true,
		Ordered:   true,
		Queued:    func(name string) int { return len(keys(t, admin, name)) },
		Jeopardy:  true,
		Checks:    true,
		Inspects:  true,
		Data:      true,
		Lease:     cfg.Lease,
		LockDelay: cfg.LockDelay,
		MaxHold:   cfg.MaxHold,
		Faults: locktest.Faults{
			TakeAway:  func(ctx context.Context, name string) error { return takeAway(ctx, admin, name) },
			Cut:       func(l lock.Locker) (restore func()) { return l.(*process).network.Cut() },
			Stall:     func(l lock.Locker, d time.Duration) { l.(*process).Stall(d) },
			LoseReply: func(l lock.Locker) (restore func()) { return l.(*process).loseReplies() },
			Late:      func(l lock.Locker) (deliver func()) { return l.(*process).late() },
			Reconnect: func(l lock.Locker) { l.(*process).network.Cut()() },
			Expire:    func(l lock.Locker) { l.(*process).expire(admin) },
			Restart: func() {
				require.NoError(t, members[0].Kill())
				require.NoError(t, members[0].Restart(t.Context()))
			},
		},
	}
}

// takeAway revokes the lease of a lock's holder.
func takeAway(ctx context.Context, admin *clientv3.Client, name string) error {
	found, err := admin.Get(ctx, folder(name), clientv3.WithFirstCreate()...)
	if err != nil || len(found.Kvs) == 0 {
		return err
	}
	_, err = admin.Revoke(ctx, clientv3.LeaseID(found.Kvs[0].Lease))
	return err
}

// The declarations and the skipped clauses are rows of the documentation.
func TestDocumentedRows(t *testing.T) {
	declared := target(t, nil, nil, config())
	require.NoError(t, doccheck.HasLines("../../docs/locks.md", declared.Row("etcd")))
	require.NoError(t, doccheck.HasLines("../../docs/results/locks.md", declared.Skipped("etcd")))
}
