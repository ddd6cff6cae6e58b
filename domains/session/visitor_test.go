package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// entry returns the index entry of visitor "v".
func (b *fixture) entry() session.Visitor {
	b.Helper()
	v, err := b.sessions.Visitor(b.Context(), "v")
	require.NoError(b, err)
	return v
}

// reserve makes the entry, which is as it was seen, point to a session.
func (b *fixture) reserve(seen session.Visitor, id string, epoch uint64) session.Visitor {
	b.Helper()
	v, err := b.sessions.ReserveVisitor(b.Context(), "v", minute(1), seen, id, epoch, minute(2))
	require.NoError(b, err)
	return v
}

func (b *fixture) confirm(id string) {
	b.Helper()
	require.NoError(b, b.sessions.ConfirmVisitor(b.Context(), "v", minute(1), id))
}

func (b *fixture) release(id string, epoch uint64) {
	b.Helper()
	require.NoError(b, b.sessions.ReleaseVisitor(b.Context(), "v", minute(1), id, epoch))
}

// The way of an entry: reserved, held, gone. It has no expiry, whatever sessions have.
func TestVisitor(t *testing.T) {
	eachWith(t, session.Config{TTL: time.Hour, ClosedTTL: time.Minute}, func(b *fixture) {
		assert.Zero(b, b.entry())
		v := b.reserve(session.Visitor{}, "s1", 0)
		assert.Equal(b, session.Visitor{
			Header: domains.Header{Format: 1, Version: 1}, ID: "v", SessionID: "s1", State: session.Reserved, Until: at(2),
		}, v)
		assert.Equal(b, v, b.entry())
		_, ttl := b.look("visitor:v")
		assert.Equal(b, rmw.NoTTL, ttl)

		b.confirm("s1")
		v = b.entry()
		assert.Equal(b, session.Visitor{
			Header: domains.Header{Format: 1, Version: 2}, ID: "v", SessionID: "s1", State: session.Held,
		}, v)

		v = b.reserve(v, "s2", 4)
		assert.Equal(b, session.Visitor{
			Header: domains.Header{Format: 1, Version: 3}, ID: "v", SessionID: "s2", Epoch: 4, State: session.Reserved, Until: at(2),
		}, v)
		b.release("s2", 5)
		assert.Zero(b, b.entry())
		stored, _ := b.look("visitor:v")
		assert.False(b, stored.Exists())
	})
}

// A Confirm or Release for another session, or an earlier epoch, changes nothing.
func TestVisitorIgnoresLateCalls(t *testing.T) {
	each(t, func(b *fixture) {
		b.untouched("visitor:v", "without an entry", func() {
			b.confirm("s1")
			b.release("s1", 9)
		})
		b.reserve(session.Visitor{}, "s1", 3)
		b.untouched("visitor:v", "another session's", func() {
			b.confirm("s2")
			b.release("s2", 9)
		})
		b.untouched("visitor:v", "a late release", func() {
			for epoch := range uint64(4) { // of the time before it was reopened at epoch 3
				b.release("s1", epoch)
			}
		})
		b.confirm("s1")
		b.untouched("visitor:v", "confirmed again", func() {
			b.confirm("s1")
			b.release("s1", 3)
		})
		b.release("s1", 4)
		assert.Zero(b, b.entry())
	})
}

// Reserve changes only the entry that was seen, also if the entry was removed and created again, and counts
// from one.
func TestVisitorMovedOn(t *testing.T) {
	each(t, func(b *fixture) {
		moved := func(seen session.Visitor, what string) {
			b.Helper()
			b.untouched("visitor:v", what, func() {
				_, err := b.sessions.ReserveVisitor(b.Context(), "v", minute(1), seen, "mine", 0, minute(2))
				assert.ErrorIs(b, err, session.ErrMovedOn, what)
			})
		}
		once := b.reserve(session.Visitor{}, "s1", 0)
		twice := b.reserve(once, "s1", 0)
		moved(once, "reserved once more")
		b.release("s1", 1)
		b.reserve(session.Visitor{}, "s1", 0)
		b.confirm("s1")
		require.Equal(b, twice.Version, b.entry().Version)
		moved(twice, "held, and not reserved")
		b.release("s1", 1)

		first := b.reserve(session.Visitor{}, "s1", 0)
		moved(session.Visitor{}, "somebody was quicker")
		b.confirm("s1")
		held := b.entry()
		moved(first, "confirmed since")
		b.release("s1", 1)
		moved(first, "gone")
		moved(held, "gone")

		second := b.reserve(session.Visitor{}, "s2", 0)
		require.Equal(b, first.Version, second.Version)
		moved(first, "another session's")
		b.confirm("s2")
		moved(held, "another session's")
		b.release("s2", 1)

		again := b.reserve(session.Visitor{}, "s1", 1)
		require.Equal(b, first.Version, again.Version)
		moved(first, "the same session's, at another epoch")
		b.reserve(again, "mine", 0)
	})
}

// An entry that has gone and come back as another session's while a process confirms the first, at whatever
// command: the other is not confirmed, although its version is the same.
func TestVisitorReplacedDuringReserve(t *testing.T) {
	paths.Each(t, func(t *testing.T, target rmwtest.Target) {
		const layout = domains.HashByVersion
		b := &fixture{T: t, target: target, layout: layout, sessions: session.New(target.Open(), session.Config{Layout: layout})}
		for n := range 8 { // commands: a confirmation takes fewer
			other := b.reserve(b.entry(), "s2", 0)
			replacement, _ := b.look("visitor:v")
			b.release("s2", 1)
			mine := b.reserve(session.Visitor{}, "s1", 0)
			require.Equal(b, mine.Version, other.Version)
			stop := b.target.Faults.Arm(n+1, rmwtest.Fault{Do: func() {
				assert.NoError(b, b.target.Direct.Set(b.Context(), "visitor:v", replacement, rmw.NoTTL))
			}})
			b.confirm("s1")
			synctest.Wait() // also for commands after the answer
			stop()
			if left := b.entry(); left.SessionID == "s2" {
				assert.Equal(b, other, left, "replaced at command %d", n+1)
			} else {
				assert.Equal(b, session.Held, left.State)
			}
			b.release("s1", 9)
			b.release("s2", 9)
		}
	})
}
