package etcdlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lock/driver"
)

// leader returns etcd's leader with a client of it, and the number of another member.
func leader(t *testing.T, members []*servers.Server) (leader *servers.Server, admin *clientv3.Client, other uint64) {
	for _, m := range members {
		client := connect(t, []*servers.Server{m}).client
		now, err := client.Status(t.Context(), m.Addr)
		require.NoError(t, err)
		if now.Leader == now.Header.MemberId {
			leader, admin = m, client
		} else {
			other = now.Header.MemberId
		}
	}
	require.NotNil(t, leader, "etcd has no leader")
	return leader, admin, other
}

// A hold and a waiter survive changes of etcd's leader, be they planned or not: the hold is not lost, and the
// waiter gets the lock from it.
func TestLeaderChange(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, members []*servers.Server){
		"moved": func(t *testing.T, members []*servers.Server) {
			_, admin, other := leader(t, members)
			_, err := admin.MoveLeader(t.Context(), other)
			require.NoError(t, err)
		},
		"killed": func(t *testing.T, members []*servers.Server) {
			killed, _, _ := leader(t, members)
			require.NoError(t, killed.Kill())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			members := servers.Etcd(t, 3)
			cfg := driver.Config{Lease: 5 * time.Second}
			holder, waiter := open(t, members, cfg), open(t, members, cfg)
			waited := make(chan error, 1)
			require.NoError(t, holder.WithLock(t.Context(), "a", func(ctx context.Context) error {
				go func() { waited <- waiter.WithLock(t.Context(), "a", nothing) }()
				until(t, "a waiter", func() bool { info, err := holder.Inspect(ctx, "a"); return err == nil && info.Waiters })
				change(t, members)
				before := holder.count(keepAlive)
				until(t, "two renewals", func() bool { return holder.count(keepAlive) >= before+2 })
				assert.NoError(t, ctx.Err())
				select {
				case err := <-waited:
					t.Error("the wait ended while the lock was held", err)
				default:
				}
				return nil
			}))
			require.NoError(t, <-waited)
		})
	}
}
