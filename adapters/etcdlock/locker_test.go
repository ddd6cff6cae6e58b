package etcdlock_test

import (
	"context"
	"encoding/hex"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/unwatch/unwatch/adapters/etcdlock"
	"github.com/unwatch/unwatch/internal/contract"
	"github.com/unwatch/unwatch/internal/servers"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/locktest"
)

func connect(tb testing.TB, addr string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *clientv3.Client {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{addr}, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return dial(ctx, "tcp", addr)
		})},
	})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// A Locker over a real etcd passes the suite for Lockers.
func TestLocker(t *testing.T) {
	t.Parallel()
	addr := servers.Etcd(t, 1)[0].Addr
	admin := connect(t, addr, new(net.Dialer).DialContext)
	locktest.Run(t, func(t *testing.T) locktest.Target {
		networks, clocks := map[lock.Locker]*contract.Network{}, map[lock.Locker]*contract.Clock{}
		return locktest.Target{
			Open: func(tb testing.TB) lock.Locker {
				network, clock := &contract.Network{}, &contract.Clock{}
				l := etcdlock.New(connect(tb, addr, network.Dialer(new(net.Dialer).DialContext)), time.Second)
				tb.Cleanup(func() { assert.NoError(tb, l.Close()) })
				etcdlock.SetClock(l, clock.Now)
				networks[l], clocks[l] = network, clock
				return l
			},
			Tokens: true,
			Lease:  2 * time.Second, // etcd expires leases twice a second
			Faults: locktest.Faults{
				TakeAway: func(ctx context.Context, name string) error { return takeAway(ctx, admin, name) },
				Cut:      func(l lock.Locker) (restore func()) { return networks[l].Cut() },
				Stall:    func(l lock.Locker, d time.Duration) { clocks[l].Stall(d) },
			},
		}
	})
}

// takeAway revokes the lease of a lock's holder.
func takeAway(ctx context.Context, admin *clientv3.Client, name string) error {
	found, err := admin.Get(ctx, etcdlock.Prefix+hex.EncodeToString([]byte(name))+"/", clientv3.WithFirstCreate()...)
	if err != nil || len(found.Kvs) == 0 {
		return err
	}
	_, err = admin.Revoke(ctx, clientv3.LeaseID(found.Kvs[0].Lease))
	return err
}
