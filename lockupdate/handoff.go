package lockupdate

import (
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// advance gives the first in the line its turn, if it can have one now. t.mu is held.
func (t *tenure) advance() {
	u := t.first
	if t.lease == nil || t.over || t.taken() || u == nil || !t.mayJoin(u) {
		return
	}
	t.remove(u)
	u.waited, u.blocked = u.waitedBy(), time.Time{}
	u.attempts++
	u.phase, u.lease, u.given = running, t.lease, t.group.value
	t.running, t.stale, t.idleSince = u, false, time.Time{}
	u.wake <- struct{}{}
}

// mayJoin reports whether u's fn may run on the group's value.
func (t *tenure) mayJoin(u *update) bool {
	switch {
	case t.lost || u.section || t.key.Name != u.key.Name || t.key.Kind != u.key.Kind:
		return false
	case len(t.group.members) == 0 && !t.flying:
		return !t.yield
	case t.cfg.NoCombining || t.solo || t.yield || len(t.group.members) >= maxGroup:
		return false
	}
	return len(t.group.members) == 0 || time.Since(t.group.began) < gather
}

// give takes what u's fn has returned, and passes the turn on. It returns false if
// the tenure has ended meanwhile.
func (q *queue) give(u *update) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if u.phase == adrift {
		return false
	}
	t := q.tenure
	t.running = nil
	if t.stale {
		t.again([]*update{u})
	} else {
		u.phase = returned
		t.group.add(u)
	}
	t.advance()
	if t.running == nil || len(t.group.members) == 1 {
		t.look() // to commit, or to see to it that the group does not wait for long
	}
	return true
}

// expel passes on the turn of one whose fn will not return.
func (q *queue) expel(u *update) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if u.phase == adrift {
		return
	}
	u.phase = left
	q.tenure.running = nil
	q.tenure.advance()
	q.tenure.look()
}

// again puts those back into the line whose fn has run on a value that never came to
// be, unless they have had their attempts.
func (t *tenure) again(members []*update) {
	redo := members[:0:0]
	for _, u := range members {
		switch {
		case u.phase == left:
		case u.attempts >= u.cfg.MaxAttempts:
			u.answer(u.result(), u.fail("commit", rmw.ErrContended))
		default:
			redo = append(redo, u)
		}
	}
	t.pushFront(redo)
}
