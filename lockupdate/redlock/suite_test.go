package redlock_test

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/docs/doccheck"
	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/locktest"
	"github.com/unwatch/unwatch/lockupdate/redlock"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

func (f *fixture) target(cfg redlock.Config, lease time.Duration) locktest.Target {
	all := make([]int, len(f.nodes))
	for i := range all {
		all[i] = i
	}
	return locktest.Target{
		Open: func(testing.TB) lock.Locker { return f.open(cfg) },
		Observe: func(_ testing.TB, o lock.Observer) lock.Locker {
			observed := cfg
			observed.Observer = o
			return f.open(observed)
		},
		Share: func(testing.TB) (a, b lock.Locker) {
			one := f.open(cfg)
			return one, f.start(&process{rdbs: one.rdbs, networks: one.networks}, cfg)
		},
		Reentrant: true,
		MaxHold:   cmp.Or(cfg.MaxHold, time.Minute),
		Patience:  time.Hour,
		Jeopardy:  true,
		Checks:    true,
		Inspects:  true,
		Lease:     lease,
		LockDelay: cfg.LockDelay,
		Faults: locktest.Faults{
			TakeAway:  func(_ context.Context, name string) error { f.takeAway(name, all...); return nil },
			Cut:       func(l lock.Locker) func() { return l.(*process).cut(all...) },
			Stall:     func(l lock.Locker, d time.Duration) { l.(*process).Stall(d) },
			Reconnect: func(l lock.Locker) { l.(*process).cut(all...)() },
			LoseReply: func(l lock.Locker) func() { return l.(*process).each((*contract.Network).LoseReplies, all...) },
			Late:      func(l lock.Locker) func() { return l.(*process).each((*contract.Network).Delay, all...) },
		},
	}
}

func TestLongLocker(t *testing.T) {
	for name, nodes := range map[string]int{"one node": 1, "three nodes": 3, "four nodes": 4, "five nodes": 5} {
		t.Run(name, func(t *testing.T) {
			if nodes != 3 {
				long.Only(t)
			}
			locktest.RunFake(t, func(t *testing.T) locktest.Target {
				return newFixture(t, nodes).target(redlock.Config{LockDelay: 5 * time.Second}, 10*time.Second)
			})
		})
	}
}

// A Locker keeps the contract in all programs.
func TestPrograms(t *testing.T) {
	locktest.RunPrograms(t, func(t *testing.T) locktest.Target {
		return newFixture(t, 3).target(redlock.Config{LockDelay: 5 * time.Second}, 10*time.Second)
	}, 75)
}

// A lock can be held for a hundred leases, if MaxHold is longer.
func TestLockerForEver(t *testing.T) {
	locktest.RunFake(t, func(t *testing.T) locktest.Target {
		endless := newFixture(t, 3).target(redlock.Config{MaxHold: 2 * time.Hour}, 10*time.Second)
		endless.MaxHold = 0 // more than the patience
		return endless
	}, "for-ever")
}

// A minority that is down, or hangs, makes no difference.
func TestLongLockerWithOneNodeDown(t *testing.T) {
	for name, down := range map[string]func(f *fixture){
		"down":  func(f *fixture) { f.nodes[1].Down(0) },
		"hangs": func(f *fixture) { f.on(1, "SET", proxytest.Fault{Action: proxytest.HangRequest}) },
	} {
		t.Run(name, func(t *testing.T) {
			long.Only(t)
			locktest.RunFake(t, func(t *testing.T) locktest.Target {
				f := newFixture(t, 3)
				down(f)
				return f.target(redlock.Config{}, 10*time.Second)
			})
		})
	}
}

// In real time: what the fake clock may hide. The lease is long, since a busy machine may
// delay a renewal for seconds.
func TestLongLockerInRealTime(t *testing.T) {
	t.Parallel()
	long.Only(t)
	locktest.Run(t, func(t *testing.T) locktest.Target {
		cfg := redlock.Config{Lease: 6 * time.Second, NodeTimeout: 1200 * time.Millisecond, MaxHold: 24 * time.Second}
		return newFixture(t, 3).target(cfg, cfg.Lease)
	})
}

// The declarations and the skipped clauses are rows of the documentation.
func TestDocumentedRows(t *testing.T) {
	declared := new(fixture).target(redlock.Config{LockDelay: time.Second}, lease)
	require.NoError(t, doccheck.HasLines("../../docs/locks.md", declared.Row("Redlock")))
	require.NoError(t, doccheck.HasLines("../../docs/results/locks.md", declared.Skipped("Redlock")))
}
