package integration

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/locktest"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
)

// lockers is a Store over a real server or proxy, as a target of the suite for Lockers.
func lockers(t *testing.T, profile *proxycompat.Profile, addr string) locktest.Target {
	const lease = 6 * time.Second // a busy machine may delay a renewal for seconds
	admin := redis.NewClient(proxycompat.Options(profile, addr))
	t.Cleanup(func() { assert.NoError(t, admin.Close()) })
	networks := map[lock.Locker]*contract.Network{}
	connect := func(tb testing.TB) (*redis.Client, *contract.Network) {
		opts, network := proxycompat.Options(profile, addr), &contract.Network{}
		if opts.Dialer == nil {
			opts.Dialer = network.Dialer(new(net.Dialer).DialContext)
		} else {
			opts.Dialer = proxycompat.HelloDialer(network.Dialer(new(net.Dialer).DialContext))
		}
		rdb := redis.NewClient(opts)
		tb.Cleanup(func() { _ = rdb.Close() })
		return rdb, network
	}
	start := func(tb testing.TB, rdb *redis.Client, network *contract.Network, o lock.Observer) lock.Locker {
		store := lockupdate.New(rdb, lockupdate.Config{Lease: lease, LockDelay: lease / 3, Observer: o})
		networks[store] = network
		tb.Cleanup(func() { _ = store.Close() }) // a clause may have cut its connection
		return store
	}
	return locktest.Target{
		Open: func(tb testing.TB) lock.Locker {
			rdb, network := connect(tb)
			return start(tb, rdb, network, nil)
		},
		Observe: func(tb testing.TB, o lock.Observer) lock.Locker {
			rdb, network := connect(tb)
			return start(tb, rdb, network, o)
		},
		Share: func(tb testing.TB) (a, b lock.Locker) {
			rdb, network := connect(tb)
			return start(tb, rdb, network, nil), start(tb, rdb, network, nil)
		},
		Reentrant:      true,
		Tokens:         true,
		Fair:           true,
		Jeopardy:       true,
		Lease:          lease,
		LockDelay:      lease / 3,
		ReleasedWithin: lease / 3,
		Faults: locktest.Faults{
			TakeAway:  func(ctx context.Context, name string) error { return admin.Del(ctx, "/lock/"+name).Err() },
			Cut:       func(l lock.Locker) (restore func()) { return networks[l].Cut() },
			LoseReply: func(l lock.Locker) (restore func()) { return networks[l].LoseReplies() },
			Late:      func(l lock.Locker) (deliver func()) { return networks[l].Delay() },
			Reconnect: func(l lock.Locker) { networks[l].Break() },
		},
	}
}

// A Store passes the suite for Lockers over a real server, in real time.
func TestLongLockerOnRedis(t *testing.T) {
	t.Parallel()
	long.Only(t)
	server := servers.Redis(t, "--appendonly", "yes", "--appendfsync", "always")
	locktest.Run(t, func(t *testing.T) locktest.Target {
		target := lockers(t, proxycompat.Redis(), server.Addr)
		target.Faults.Restart = func() {
			require.NoError(t, server.Kill())
			require.NoError(t, server.Restart(t.Context()))
		}
		target.Faults.Forget = func() {
			rdb := redis.NewClient(&redis.Options{Addr: server.Addr})
			defer func() { _ = rdb.Close() }()
			require.NoError(t, rdb.FlushAll(t.Context()).Err())
		}
		return target
	})
}

// A Store passes the suite for Lockers behind a real proxy.
func TestLongLockerBehindNutcracker(t *testing.T) {
	t.Parallel()
	long.Only(t)
	nutcracker := servers.Nutcracker(t, []string{servers.Redis(t).Addr, servers.Redis(t).Addr}, 4)
	locktest.Run(t, func(t *testing.T) locktest.Target { return lockers(t, proxycompat.Twemproxy05(), nutcracker.Addr) })
}
