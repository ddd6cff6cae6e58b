package redlock_test

import (
	"context"
	"testing"
	"time"

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
		Open:      func(testing.TB) lock.Locker { return f.open(cfg) },
		Reentrant: true,
		Lease:     lease,
		Faults: locktest.Faults{
			TakeAway: func(_ context.Context, name string) error { f.takeAway(name, all...); return nil },
			Cut:      func(l lock.Locker) func() { return l.(*process).cut(all...) },
			Stall:    func(l lock.Locker, d time.Duration) { l.(*process).Stall(d) },
		},
	}
}

func TestLocker(t *testing.T) {
	for name, nodes := range map[string]int{"one node": 1, "three nodes": 3, "four nodes": 4, "five nodes": 5} {
		t.Run(name, func(t *testing.T) {
			locktest.RunFake(t, func(t *testing.T) locktest.Target {
				return newFixture(t, nodes).target(redlock.Config{}, 10*time.Second)
			})
		})
	}
}

// A minority that is down, or hangs, makes no difference.
func TestLockerWithOneNodeDown(t *testing.T) {
	for name, down := range map[string]func(f *fixture){
		"down":  func(f *fixture) { f.nodes[1].Down(0) },
		"hangs": func(f *fixture) { f.on(1, "SET", proxytest.Fault{Action: proxytest.HangRequest}) },
	} {
		t.Run(name, func(t *testing.T) {
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
func TestLockerInRealTime(t *testing.T) {
	t.Parallel()
	long.Only(t)
	locktest.Run(t, func(t *testing.T) locktest.Target {
		return newFixture(t, 3).target(redlock.Config{Lease: 6 * time.Second, NodeTimeout: 1200 * time.Millisecond}, 6*time.Second)
	})
}
