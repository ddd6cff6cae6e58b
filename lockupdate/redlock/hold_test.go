package redlock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
)

// What is left of a lease when the majority comes late decides.
func TestInTime(t *testing.T) {
	l := New(nil, Config{})
	usable := l.cfg.usable()
	require.Equal(t, l.cfg.Lease-l.cfg.Drift-l.cfg.Lease/20, usable)
	require.NoError(t, (&round{Locker: l, began: time.Now()}).inTime())
	require.ErrorIs(t, (&round{Locker: l, began: time.Now().Add(-usable)}).inTime(), rmw.ErrUnavailable)
}
