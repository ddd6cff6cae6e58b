package shadow

import (
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
	ttl := c.key.TTL
	if own := next.TTL(); own != 0 {
		ttl = own
	}
	switch {
	case ttl != 0:
		t.life.set(ttl)
	case !c.old.Exists():
		t.life.set(rmw.NoTTL)
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
