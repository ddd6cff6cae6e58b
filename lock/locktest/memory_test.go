package locktest_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/docs/doccheck"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/lock/locktest"
	"github.com/unwatch/unwatch/rmw"
)

func memoryTarget(cfg driver.Config) locktest.Target {
	target := locktest.MemoryTarget(locktest.NewMemory(cfg), cfg, func(tb testing.TB, m *locktest.Memory) lock.Locker {
		tb.Cleanup(func() { assert.NoError(tb, m.Close()) })
		return m
	})
	target.SlackAfterLease = 20 * time.Millisecond
	return target
}

func TestMemory(t *testing.T) {
	for name, cfg := range map[string]driver.Config{
		"defaults": {}, "lock delay": {LockDelay: 5 * time.Second}, "short lease": {Lease: time.Second},
		"max hold": {MaxHold: 40 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			locktest.RunFake(t, func(*testing.T) locktest.Target { return memoryTarget(cfg) })
		})
	}
}

// Run is the same in real time, as the tests over real servers call it.
func TestLongRun(t *testing.T) {
	t.Parallel()
	long.Only(t)
	locktest.Run(t, func(*testing.T) locktest.Target {
		target := memoryTarget(driver.Config{Lease: 2 * time.Second})
		target.SlackAfterLease, target.Patience = 0, 0 // a busy machine, and real time
		return target
	})
}

// A nested fn whose caller has detached its ctx learns of the loss all the same.
func TestMemoryTellsDetached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := locktest.NewMemory(driver.Config{Lease: time.Second})
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
	short := memoryTarget(driver.Config{Lease: time.Second})
	short.ReleasedWithin = time.Second
	require.ErrorContains(t, clause.Check(t, short), "use at least 2.2s")
	require.ErrorContains(t, clause.Check(t, locktest.Target{Open: short.Open, LockDelay: 1}), "declare both")
	require.ErrorContains(t, clause.Check(t, locktest.Target{Open: short.Open, Lease: time.Second, MaxHold: 1}), "use at least 4s")
}

// A clause whose needs are not declared is not checked, and says which are missing.
func TestMissing(t *testing.T) {
	bare := locktest.Target{Open: memoryTarget(driver.Config{}).Open}
	missing := map[string]string{}
	for _, c := range locktest.Clauses() {
		if m := c.Missing(bare); m != "" {
			missing[c.Name] = m
			assert.Regexp(t, "^(this Locker|this Target|the leases of this Locker) ", m)
			require.ErrorContains(t, c.Check(t, bare), "cannot be checked: ")
		}
	}
	for name, want := range map[string]string{
		"renewed":             "this Target declares no lease",
		"token-over-failover": "this Locker has no tokens; this Target cannot disturb the lock service",
		"dies":                "this Target cannot cut a Locker off; this Target declares no lease",
		"data":                "this Locker shows no locks; this Locker stores no data",
		"clock-forward": "the leases of this Locker follow a wall clock; this Target cannot set the clock of the lock service; " +
			"this Target declares no lease",
	} {
		assert.Equal(t, want, missing[name], name)
	}
	assert.Len(t, missing, 47)
	bare.Lease = time.Minute
	for _, c := range locktest.Clauses() {
		if c.Name == "renewed" {
			assert.Equal(t, "3 leases of 1m0s are more than its patience of 1m0s", c.Missing(bare))
		}
	}
}

func ExampleTarget_Row() {
	fmt.Print(locktest.Header())
	fmt.Print(memoryTarget(driver.Config{}).Row("memory"))
	fmt.Print(locktest.Target{Tokens: true, Fair: true}.Row("another"))
	// Output:
	// | lock service | reentrant | tokens | order | jeopardy | delay | session | steady clock | Check | Inspect | data | wanted | events |
	// |---|---|---|---|---|---|---|---|---|---|---|---|---|
	// | memory | yes | yes | arrival | yes | no | no | yes | yes | yes | yes | yes | yes |
	// | another | no | yes | fair | no | no | no | no | no | no | no | no | no |
}

func ExampleNewMemory() {
	locks := locktest.NewMemory(driver.Config{})
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

// The documentation has the table's head. Each Locker tests its own row.
func TestDocumentedHeader(t *testing.T) {
	require.NoError(t, doccheck.HasLines("../../docs/locks.md", locktest.Header()))
	require.NoError(t, doccheck.HasLines("../../docs/results/locks.md", locktest.SkippedHeader()))
}
