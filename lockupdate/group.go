package lockupdate

import (
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// group is updates of one key that are committed together: each fn was given what
// the one before returned, the first one base.
type group struct {
	members []*update
	writes  int       // how many of them want something written
	began   time.Time // when the first joined
	base    rmw.Value
	value   rmw.Value     // what the last returned
	reads   reads         // of base
	ttl     time.Duration // what all of them together leave, as in rmw.Key.TTL
}

func newGroup(v rmw.Value) group { return group{base: v, value: v} }

// add takes in an update whose fn has returned.
func (g *group) add(u *update) {
	if len(g.members) == 0 {
		g.began, g.reads = time.Now(), reads{partly: true}
	}
	g.reads.add(u.reads)
	g.members = append(g.members, u)
	if !u.wrote {
		return
	}
	g.writes++
	switch {
	case !u.after.Exists():
		g.ttl = 0
	case u.ttl != 0:
		g.ttl = u.ttl
	case !g.value.Exists(): // a new key has no expiry, whatever the deleted one had
		g.ttl = rmw.NoTTL
	}
	g.value = u.after
}

// changes reports whether there is anything to write.
func (g *group) changes() bool { return g.ttl != 0 || !g.value.Equal(g.base) }

// knownSince reports whether a command sent at asOf was sent during each member's
// call, so that what it found is recent enough for them.
func (g *group) knownSince(asOf time.Time) bool {
	for _, u := range g.members {
		if u.arrived.After(asOf) {
			return false
		}
	}
	return true
}
