//go:build unix

package servers

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/unwatch/unwatch/internal/testing/long"
)

// After a kill of the primary a replica takes over with the replicated data, and the old primary restarts
// as its replica.
func TestLongSentinelsReplaceAKilledPrimary(t *testing.T) {
	t.Parallel() // the test mostly waits
	long.Only(t)
	all := NewSentinels(t, 2, 3, "--appendonly", "yes", "--appendfsync", "always")
	if len(all.Servers()) != 3 || len(all.Sentinels()) != 3 || len(all.Addrs()) != 3 {
		t.Fatalf("%d servers, sentinels at %v", len(all.Servers()), all.Addrs())
	}
	old, err := all.Primary(t.Context())
	if err != nil || old != all.Servers()[0] {
		t.Fatalf("the primary is %v, error %v", old, err)
	}
	if got := ask(t, old.Addr, "SET", "k", "v"); got != "+OK" {
		t.Fatalf("SET answered %q", got)
	}
	if got := ask(t, old.Addr, "WAIT", "2", "900"); got != ":2" {
		t.Fatalf("WAIT answered %q", got)
	}
	if err := old.Kill(); err != nil {
		t.Fatal(err)
	}
	now, err := all.AwaitPrimary(t.Context(), old)
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(t, now.Addr, "GET", "k"); now == old || got != "$1" {
		t.Fatalf("the new primary %s answered %q", now.Addr, got)
	}
	if got := ask(t, now.Addr, "SET", "k", "vv"); got != "+OK" {
		t.Fatalf("the new primary does not take writes: %q", got)
	}
	if err := old.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := all.AwaitSettled(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, old.Addr, "GET", "k"); got != "$2" {
		t.Fatalf("the old primary does not follow: %q", got)
	}
	// The sentinels have written its role into its configuration.
	again(t, old)
	if got := ask(t, old.Addr, "ROLE"); got != "*5" {
		t.Fatalf("the old primary forgot that it is a replica: %q", got)
	}
}

// One of the sentinels may be down.
func TestLongSentinelsFailOver(t *testing.T) {
	t.Parallel() // the test mostly waits
	long.Only(t)
	all := NewSentinels(t, 2, 3)
	if err := all.Sentinels()[0].Pause(); err != nil {
		t.Fatal(err)
	}
	old, err := all.Primary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now, err := all.Failover(t.Context())
	if err != nil || now == old || !slices.Contains(all.Servers(), now) {
		t.Fatalf("the primary was %s and is %v, error %v", old.Addr, now, err)
	}
	if got := ask(t, now.Addr, "SET", "k", "v"); got != "+OK" {
		t.Fatalf("the new primary does not take writes: %q", got)
	}
	if err := all.Sentinels()[0].Resume(); err != nil {
		t.Fatal(err)
	}
	again(t, all.Sentinels()[1]) // its configuration keeps its state
	if err := all.AwaitSettled(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// An isolated primary is replaced, accepts writes from its clients meanwhile, and becomes a replica after
// the partition.
func TestLongSentinelsReplaceAnIsolatedPrimary(t *testing.T) {
	t.Parallel() // the test mostly waits
	long.Only(t)
	between := map[string]*wire{}
	all := useAs(t, func(ctx context.Context) (*Sentinels, error) {
		return StartSentinelsBetween(ctx, t.TempDir(), 1, 3, func(addr string) (string, error) {
			w, err := newWire(ctx, addr)
			between[addr] = w
			return w.Addr().String(), err
		})
	}, (*Sentinels).Stop)
	old, err := all.Primary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wire := between[old.Addr]
	if at, err := primaryOf(t.Context(), all.Sentinels()[0]); err != nil || at == old.Addr || all.Find(at) != old.Addr {
		t.Fatalf("the sentinels name %s, which is %s, for %s, error %v", at, all.Find(at), old.Addr, err)
	}
	wire.cut(true)
	now, err := all.AwaitPrimary(t.Context(), old)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Server{old, now} {
		if got := ask(t, s.Addr, "SET", "k", s.Addr); got != "+OK" {
			t.Fatalf("%s answered %q", s.Addr, got)
		}
	}
	wire.cut(false)
	if err := all.AwaitSettled(t.Context()); err != nil {
		t.Fatal(err)
	}
	primary, err := all.Primary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// On a busy machine the sentinels may have returned to the old primary meanwhile.
	if v, err := do(t.Context(), old.Addr, "GET", "k"); err != nil || v.s != primary.Addr {
		t.Fatalf("the old primary holds %q, and %s is the primary, error %v", v.s, primary.Addr, err)
	}
}

// Without a majority of the sentinels there is no primary.
func TestSentinelsNeedAMajority(t *testing.T) {
	t.Parallel() // the test mostly waits
	all := NewSentinels(t, 1, 3)
	for _, s := range all.Sentinels()[:2] {
		s.Stop()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if s, err := all.Primary(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the primary is %v, error %v", s, err)
	}
	if err := all.AwaitSettled(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("settled: %v", err)
	}
}

func TestSentinelsNeedSomebodyToPromote(t *testing.T) {
	if _, err := StartSentinels(t.Context(), t.TempDir(), 0, 3); err == nil {
		t.Fatal("started without a replica")
	}
}

// All servers end with their ctx, including restarted and paused ones.
func TestSentinelsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	Redis(t) // skips if the program is missing
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	all, err := StartSentinels(ctx, t.TempDir(), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	again(t, all.Servers()[1])
	if err := all.Sentinels()[0].Pause(); err != nil {
		t.Fatal(err)
	}
	cancel()
	for _, s := range append(all.Servers(), all.Sentinels()...) {
		await(t, s.Done())
	}
	if _, err := StartClusterNodes(ctx, t.TempDir(), 3, 1); !errors.Is(err, context.Canceled) {
		t.Fatalf("started after its time: %v", err)
	}
}
