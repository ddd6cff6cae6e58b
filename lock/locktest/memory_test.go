package locktest_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/locktest"
	"github.com/unwatch/unwatch/rmw"
)

func memoryTarget(cfg locktest.MemoryConfig) locktest.Target {
	m := locktest.NewMemory(cfg)
	lease := cfg.Lease
	if lease == 0 {
		lease = 10 * time.Second
	}
	return locktest.Target{
		Open:      func(testing.TB) lock.Locker { return m.Peer() },
		Reentrant: !cfg.NotReentrant,
		Tokens:    true,
		Lease:     lease,
		Faults: locktest.Faults{
			TakeAway: m.TakeAway,
			Cut:      func(l lock.Locker) func() { return l.(*locktest.Memory).Cut() },
			Stall:    func(l lock.Locker, d time.Duration) { l.(*locktest.Memory).Stall(d) },
		},
	}
}

func TestMemory(t *testing.T) {
	for name, cfg := range map[string]locktest.MemoryConfig{"reentrant": {}, "not reentrant": {NotReentrant: true}} {
		t.Run(name, func(t *testing.T) {
			locktest.RunFake(t, func(*testing.T) locktest.Target { return memoryTarget(cfg) })
		})
	}
}

// Run is the same in real time, as the tests over real servers call it.
func TestRun(t *testing.T) {
	locktest.Run(t, func(*testing.T) locktest.Target {
		return memoryTarget(locktest.MemoryConfig{Lease: 2 * time.Second})
	})
}

// A nested fn whose caller has detached its ctx learns of the loss all the same.
func TestMemoryTellsDetached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := locktest.NewMemory(locktest.MemoryConfig{Lease: time.Second})
		err := m.WithLock(t.Context(), "a", func(ctx context.Context) error {
			return m.WithLock(context.WithoutCancel(ctx), "a", func(ctx context.Context) error {
				require.NoError(t, m.TakeAway(ctx, "a"))
				<-ctx.Done()
				assert.ErrorIs(t, context.Cause(ctx), rmw.ErrLockLost)
				return nil
			})
		})
		require.ErrorIs(t, err, rmw.ErrLockLost)
	})
}

func TestTargetIsChecked(t *testing.T) {
	clause := locktest.Clauses()[0]
	require.ErrorContains(t, clause.Check(t, locktest.Target{}), "Target.Open is nil")
	short := memoryTarget(locktest.MemoryConfig{Lease: time.Second})
	short.ReleasedWithin = time.Second
	require.ErrorContains(t, clause.Check(t, short), "use at least 2.2s")
}

// What a Target does not declare is not checked, and not passed over in silence.
func TestMissing(t *testing.T) {
	target := memoryTarget(locktest.MemoryConfig{})
	target.Lease, target.Faults = 0, locktest.Faults{}
	missing := map[string]string{}
	for _, c := range locktest.Clauses() {
		if m := c.Missing(target); m != "" {
			missing[c.Name] = m
			require.ErrorContains(t, c.Check(t, target), "cannot be checked: ")
		}
	}
	assert.Equal(t, map[string]string{
		"nested-refused": "this Locker is reentrant",
		"renewed":        "this Target declares no lease",
		"taken-away":     "this Target cannot take a lock away",
		"not-anothers":   "this Target cannot take a lock away",
		"cut-off":        "this Target cannot cut a Locker off; this Target declares no lease",
		"stall":          "this Target cannot stall a Locker; this Target declares no lease",
		"unavailable":    "this Target cannot cut a Locker off",
		"token-lost":     "this Target cannot take a lock away",
		"token-none":     "this Locker has tokens",
	}, missing)
	target.Lease = time.Minute
	for _, c := range locktest.Clauses() {
		if c.Name == "renewed" {
			assert.Equal(t, "three leases of 1m0s are more than its patience of 1m0s", c.Missing(target))
		}
	}
}

func ExampleNewMemory() {
	locks := locktest.NewMemory(locktest.MemoryConfig{})
	other := locks.Peer() // another process
	err := locks.WithLock(context.Background(), "invoice:7", func(ctx context.Context) error {
		fmt.Println(other.TryLock(ctx, "invoice:7", func(context.Context) error { return nil }))
		return nil
	})
	fmt.Println(err)
	// Output:
	// memory: lock "invoice:7": contended: other writers kept the key busy
	// <nil>
}
