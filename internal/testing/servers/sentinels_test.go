package servers

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/unwatch/unwatch/internal/testing/long"
)

// One of the sentinels may be down. A server that restarts has the role that the sentinels gave it.
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
	if err != nil || now == old {
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
	for s, role := range map[*Server]string{old: "*5", now: "*3"} {
		again(t, s)
		if got := ask(t, s.Addr, "ROLE"); got != role {
			t.Errorf("%s answered %q to ROLE, want %q", s.Addr, got, role)
		}
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
