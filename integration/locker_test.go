package integration

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/internal/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/lockupdate/locktest"
	"github.com/unwatch/unwatch/proxycompat"
)

// cuttable is a client's network, which can be cut.
type cuttable struct {
	mu    sync.Mutex
	isCut bool
	conns []net.Conn
}

func (c *cuttable) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isCut {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("the network is cut")}
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil {
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

func (c *cuttable) cut() (restore func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = true
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.isCut = false
	}
}

// lockers is a Store over a real server, or a real proxy, as the suite for Lockers sees
// it.
func lockers(t *testing.T, profile *proxycompat.Profile, addr string) locktest.Target {
	const lease = 1500 * time.Millisecond
	admin := redis.NewClient(proxycompat.Options(profile, addr))
	t.Cleanup(func() { assert.NoError(t, admin.Close()) })
	networks := map[locktest.Locker]*cuttable{}
	return locktest.Target{
		Open: func(tb testing.TB) locktest.Locker {
			opts, network := proxycompat.Options(profile, addr), &cuttable{}
			if opts.Dialer == nil {
				opts.Dialer = network.dial
			} else {
				opts.Dialer = proxycompat.HelloDialer(network.dial)
			}
			rdb := redis.NewClient(opts)
			store := lockupdate.New(rdb, lockupdate.Config{Lease: lease})
			networks[store] = network
			tb.Cleanup(func() {
				_ = store.Close() // a clause may have cut it off
				_ = rdb.Close()
			})
			return store
		},
		Reentrant:      true,
		Lease:          lease,
		ReleasedWithin: lease / 3,
		Faults: locktest.Faults{
			TakeAway: func(ctx context.Context, name string) error { return admin.Del(ctx, "/lock/"+name).Err() },
			Cut:      func(l locktest.Locker) (restore func()) { return networks[l].cut() },
		},
	}
}

// A Store is a Locker over a real server, in real time, …
func TestLockerOnRedis(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	locktest.Run(t, func(t *testing.T) locktest.Target { return lockers(t, proxycompat.Redis(), server.Addr) })
}

// … and behind a real proxy.
func TestLockerBehindNutcracker(t *testing.T) {
	t.Parallel()
	nutcracker := servers.Nutcracker(t, []string{servers.Redis(t).Addr, servers.Redis(t).Addr}, 4)
	locktest.Run(t, func(t *testing.T) locktest.Target { return lockers(t, proxycompat.Twemproxy05(), nutcracker.Addr) })
}
