package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/internal/paths"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// entry returns the index entry of visitor "v".
func (b *bench) entry() session.Visitor {
	b.Helper()
	v, err := b.sessions.Visitor(b.Context(), "v")
	require.NoError(b, err)
	return v
}

// reserve makes the entry, which is as it was seen, point to a session.
func (b *bench) reserve(seen session.Visitor, id string, epoch uint64) session.Visitor {
	b.Helper()
	v, err := b.sessions.ReserveVisitor(b.Context(), "v", minute(1), seen, id, epoch, minute(2))
	require.NoError(b, err)
	return v
}

func (b *bench) confirm(id string) {
	b.Helper()
	require.NoError(b, b.sessions.ConfirmVisitor(b.Context(), "v", minute(1), id))
}

func (b *bench) release(id string, epoch uint64) {
	b.Helper()
	require.NoError(b, b.sessions.ReleaseVisitor(b.Context(), "v", minute(1), id, epoch))
}

// The way of an entry: reserved, held, gone. It has no expiry, whatever sessions have.
func TestVisitor(t *testing.T) {
	eachWith(t, session.Config{TTL: time.Hour, ClosedTTL: time.Minute}, func(b *bench) {
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

// What cannot be used is refused, and nothing is written.
func TestVisitorInvalid(t *testing.T) {
	each(t, func(b *bench) {
		seen := b.reserve(session.Visitor{}, "s1", 0)
		b.untouched("visitor:v", "invalid", func() {
			for _, c := range []struct {
				visitor, session string
				epoch            uint64
				at, until        time.Time
			}{
				{"v", "", 0, minute(1), minute(2)},
				{"v", long, 0, minute(1), minute(2)},
				{"v", garbled, 0, minute(1), minute(2)},
				{"v", "s2", session.MaxEpoch + 1, minute(1), minute(2)},
				{"v", "s2", 0, time.Time{}, minute(2)},
				{"v", "s2", 0, minute(1), time.Unix(-5, 0)},
				{"v", "s2", 0, minute(1), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
				{"", "s2", 0, minute(1), minute(2)},
				{garbled, "s2", 0, minute(1), minute(2)},
			} {
				_, err := b.sessions.ReserveVisitor(b.Context(), c.visitor, c.at, seen, c.session, c.epoch, c.until)
				if c.visitor != "v" {
					_, err = b.sessions.Visitor(b.Context(), c.visitor)
				}
				assert.ErrorIs(b, err, rmw.ErrInvalid)
				assert.Nil(b, domains.RefusalOf(err))
			}
			assert.ErrorIs(b, b.sessions.ConfirmVisitor(b.Context(), "v", time.Time{}, "s1"), rmw.ErrInvalid)
			assert.ErrorIs(b, b.sessions.ReleaseVisitor(b.Context(), "v", time.Time{}, "s1", 1), rmw.ErrInvalid)
		})
	})
}

// An entry that has gone and come back as another session's while a process confirms the
// first, at whatever command: the other is not confirmed, although its version is the same.
func TestVisitorReplacedMeanwhile(t *testing.T) {
	paths.Each(t, func(t *testing.T, target rmwtest.Target) {
		const layout = domains.HashByVersion
		b := &bench{T: t, target: target, layout: layout, sessions: session.New(target.Open(), session.Config{Layout: layout})}
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
			synctest.Wait() // also for what a path does after it has answered
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
