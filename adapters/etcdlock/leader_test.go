package etcdlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lock/driver"
)

// moveLeader makes another member the leader.
func moveLeader(tb testing.TB, members []*servers.Server) {
	for i, m := range members {
		admin := connect(tb, []*servers.Server{m}).client
		now, err := admin.Status(tb.Context(), m.Addr)
		require.NoError(tb, err)
		if now.Leader != now.Header.MemberId {
			continue
		}
		other := members[(i+1)%len(members)]
		next, err := admin.Status(tb.Context(), other.Addr)
		require.NoError(tb, err)
		_, err = admin.MoveLeader(tb.Context(), next.Header.MemberId)
		require.NoError(tb, err)
		return
	}
	tb.Error("etcd has no leader")
}

// A hold and a waiter survive changes of etcd's leader, be they planned or not: the hold is not lost, and the
// waiter gets the lock from it.
func TestLeaderChange(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, members []*servers.Server){
		"moved": func(t *testing.T, members []*servers.Server) { moveLeader(t, members) },
		"killed": func(t *testing.T, members []*servers.Server) {
			for _, m := range members {
				now, err := connect(t, []*servers.Server{m}).client.Status(t.Context(), m.Addr)
				require.NoError(t, err)
				if now.Leader == now.Header.MemberId {
					require.NoError(t, m.Kill())
					return
				}
			}
			t.Error("etcd has no leader")
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
