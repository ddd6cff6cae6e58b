package shadow

import (
	"cmp"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// lifetime is until when the hidden path's key lives, as far as this process has set it.
type lifetime struct {
	known bool
	until time.Time // zero: for ever
}

// set notes an expiry that was asked for: a duration, or NoTTL.
func (l *lifetime) set(ttl time.Duration) {
	*l = lifetime{known: true}
	if ttl > 0 {
		l.until = time.Now().Add(ttl)
	}
}

// mayBeOver reports whether it would be no surprise that the key is gone.
func (l lifetime) mayBeOver(tolerance time.Duration) bool {
	return !l.known || !l.until.IsZero() && time.Until(l.until) <= tolerance
}

// lives notes what an update leaves of the key's lifetime.
func (t *track) lives(c *call, next rmw.Value) {
	switch ttl := cmp.Or(next.TTL(), c.key.TTL); {
	case ttl != 0:
		t.setLife(ttl)
	case !c.old.Exists():
		t.setLife(rmw.NoTTL)
	}
}

// setLife notes an expiry, unless one that was given up may still replace it.
func (t *track) setLife(ttl time.Duration) {
	t.life = lifetime{}
	if t.settled() {
		t.life.set(ttl)
	}
}

// lateFor is how long a write is taken for possible that was given up.
const lateFor = time.Minute

// unsure notes that what was sent may have been executed, or may yet be.
func (t *track) unsure() {
	t.life = lifetime{}
	t.late = time.Now().Add(lateFor)
}

// settled reports whether nothing that was given up can still come.
func (t *track) settled() bool { return time.Now().After(t.late) }

// certain reports whether nothing that was given up can have come since the key was left
// with what it was left with.
func (t *track) certain() bool { return t.known && t.since.After(t.late) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
