package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
)

// The expiry after each change, by TTL and ClosedTTL.
func TestExpiry(t *testing.T) {
	const open, closed, foreign = time.Hour, 10 * time.Minute, 7 * time.Minute
	for _, c := range []struct {
		name                       string
		ttl, closedTTL             time.Duration
		created, afterForeign      time.Duration // while it is open; and if another service has set an expiry
		ended, rated, reopenedLeft time.Duration
	}{
		{"neither", 0, 0, rmw.NoTTL, foreign, foreign, foreign, foreign},
		{"for open ones", open, 0, open, open, open, open, open},
		{"for closed ones", 0, closed, rmw.NoTTL, foreign, closed, closed, rmw.NoTTL},
		{"for both", open, closed, open, open, closed, closed, open},
		{"none once it is closed", open, rmw.NoTTL, open, open, rmw.NoTTL, rmw.NoTTL, open},
		{"none, and then one", rmw.NoTTL, closed, rmw.NoTTL, rmw.NoTTL, closed, closed, rmw.NoTTL},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := session.Config{TTL: c.ttl, ClosedTTL: c.closedTTL, ReopenWindow: time.Hour}
			eachWith(t, cfg, func(b *fixture) {
				expiry := func(want time.Duration, what string) {
					b.Helper()
					_, left := b.look("session:s")
					if want == rmw.NoTTL {
						assert.Equal(b, rmw.NoTTL, left, what)
						return
					}
					assert.InDelta(b, want, left, float64(5*time.Second), what)
				}
				b.open()
				expiry(c.created, "open")
				v, _ := b.look("session:s")
				require.NoError(b, b.target.Direct.Set(b.Context(), "session:s", v, foreign))
				_, err := b.sessions.SetPriority(b.Context(), "s", b.op(3), 0)
				require.NoError(b, err)
				expiry(foreign, "nothing to change")
				_, err = b.sessions.SetPriority(b.Context(), "s", b.op(3), 1)
				require.NoError(b, err)
				expiry(c.afterForeign, "changed")
				s := b.edit(4, func(s *session.Session, at domains.Time) error { return s.Close(at, session.ByAgent, windows) })
				expiry(c.ended, "closed")
				s, err = b.sessions.Fence(b.Context(), "s", minute(4), s.Epoch)
				require.NoError(b, err)
				expiry(c.rated, "changed while closed")
				b.edit(5, func(n *session.Session, at domains.Time) error { return n.Reopen(at, s.Epoch) })
				expiry(c.reopenedLeft, "reopened")
				b.edit(6, func(n *session.Session, at domains.Time) error { return n.SetPriority(at, 2) })
				expiry(c.reopenedLeft, "changed after being reopened")
			})
		})
	}
}

// A closed session is gone when its time is over; one that was reopened stays, and so does one that was
// reopened and closed in one step, for as long as closed ones do.
func TestExpires(t *testing.T) {
	cfg := session.Config{ClosedTTL: 10 * time.Minute, ReopenWindow: time.Hour}
	eachWith(t, cfg, func(b *fixture) {
		b.open()
		s := b.edit(1, func(s *session.Session, at domains.Time) error {
			return s.Close(at, session.ByAgent, b.sessions.Windows())
		})
		s = b.edit(2, func(n *session.Session, at domains.Time) error { return n.Reopen(at, s.Epoch) })
		_, left := b.look("session:s")
		assert.Equal(b, rmw.NoTTL, left)
		s = b.edit(3, func(s *session.Session, at domains.Time) error {
			return s.Close(at, session.ByAgent, b.sessions.Windows())
		})
		b.edit(4, func(n *session.Session, at domains.Time) error {
			return domains.Steps(
				func() error { return n.Reopen(at, s.Epoch) },
				func() error { return n.Close(at, session.ByVisitor, session.Windows{}) },
			)
		})
		_, left = b.look("session:s")
		assert.InDelta(b, 10*time.Minute, left, float64(5*time.Second))
	})
}

// An abandoned session outlives every process that may stall while opening it.
func TestAbandonedExpires(t *testing.T) {
	const long, short = 3 * abandonedTTL, time.Minute
	for _, c := range []struct{ ttl, closedTTL, want time.Duration }{
		{0, 0, rmw.NoTTL},
		{short, 0, abandonedTTL},
		{0, short, abandonedTTL},
		{short, long, long},
		{long, short, long},
		{rmw.NoTTL, short, abandonedTTL},
		{rmw.NoTTL, 0, rmw.NoTTL},
		{short, rmw.NoTTL, rmw.NoTTL},
	} {
		t.Run(fmt.Sprint(c.ttl, " and ", c.closedTTL), func(t *testing.T) {
			eachWith(t, session.Config{TTL: c.ttl, ClosedTTL: c.closedTTL}, func(b *fixture) {
				_, err := b.sessions.Abandon(b.Context(), "s", minute(0), "v")
				require.NoError(b, err)
				_, left := b.look("session:s")
				assert.InDelta(b, c.want, left, float64(5*time.Second))
			})
		})
	}
}

// The keys, and a codec of one's own.
func TestConfig(t *testing.T) {
	eachWith(t, session.Config{Prefix: "p:", VisitorPrefix: "w:"}, func(b *fixture) {
		b.open()
		_, err := b.sessions.ReserveVisitor(b.Context(), "v", minute(0), session.Visitor{}, "s", 0, minute(1))
		require.NoError(b, err)
		for _, key := range []string{"p:s", "w:v"} {
			v, _ := b.look(key)
			require.True(b, v.Exists(), key)
			assert.Equal(b, b.layout != domains.JSON, v.Kind() == rmw.KindHash, key)
		}
	})
	eachWith(t, session.Config{Codec: rmw.JSON[session.Session](), ClosedTTL: time.Hour}, func(b *fixture) {
		b.open()
		b.edit(1, func(s *session.Session, at domains.Time) error { return s.Close(at, session.ByAgent, windows) })
		v, left := b.look("session:s")
		assert.Equal(b, rmw.KindString, v.Kind())
		assert.Equal(b, rmw.NoTTL, left)
	})
}
