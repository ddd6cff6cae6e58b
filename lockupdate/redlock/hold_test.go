package redlock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
)

// A process that was stopped for longer than its lease may go on with fn before it
// goes on with what watches the lease.
func TestLeaveTellsAStall(t *testing.T) {
	for _, left := range []time.Duration{time.Hour, 0} {
		h := &hold{round: &round{Locker: New(nil, Config{})}, users: 2, until: time.Now().Add(left)}
		h.kept, h.lose = context.WithCancelCause(t.Context())
		if left > 0 {
			require.NoError(t, h.leave())
		} else {
			require.ErrorIs(t, h.leave(), rmw.ErrLockLost)
		}
	}
}

// What is left of a lease when the majority comes late decides.
func TestInTime(t *testing.T) {
	l := New(nil, Config{})
	usable := l.cfg.usable()
	require.Equal(t, l.cfg.Lease-l.cfg.Drift-l.cfg.Lease/20, usable)
	require.NoError(t, (&round{Locker: l, began: time.Now()}).inTime())
	require.ErrorIs(t, (&round{Locker: l, began: time.Now().Add(-usable)}).inTime(), rmw.ErrUnavailable)
}
