package shadow

import (
	"container/list"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// registry remembers the keys that were touched, the latest ones, and what the lockstep
// comparator knows of each.
type registry struct {
	limit int

	mu         sync.Mutex
	byName     map[string]*list.Element // of *track
	order      *list.List               // the one touched last is in front
	unverified int64                    // tracks that were evicted before the verifier had found them equal
	late       time.Time                // of all tracks that were evicted, the latest
}

// track is what is known of a key. Whoever works on a key holds its lock.
type track struct {
	latch
	evicted bool // the registry has another one of the key, or none
	busy    int  // calls that were given to it, or wait in it; guarded by the registry's lock
	key     rmw.Key
	op      *operation // the last

	pending []*item   // in the order in which they came
	wait    time.Time // until when the first of them waits for the call before it
	next    time.Time // when to look again meanwhile
	moved   time.Time // when the hidden path was last seen to hold something else

	known  bool      // left is what the hidden path was left with by us, or was seen to hold
	left   digest    // of its value
	since  time.Time // when that was
	sure   bool      // it was read back and was that
	equal  bool      // the verifier has found that the serving path holds the same, and no call came since
	gap    bool      // a call was not mirrored
	dirty  string    // opID of the call with which it began to diverge
	recent [16]digest
	at     int // in recent, the next

	copied copied
	life   lifetime
	late   time.Time // until when a write may still come that was given up

	beaten  int // times in a row that it was changed while we copied it
	allGaps int // as the lane's, when this key was last looked at

	doubts  int       // rounds of the verifier in a row in which it differed
	doubted [2]digest // what both paths held then
	healed  int       // times in a row that the verifier has copied it anew, and its expiry differs again
	shares  int64     // the Store's, when an expiry that differs was last judged
}

func newRegistry(limit int) *registry {
	return &registry{limit: limit, byName: map[string]*list.Element{}, order: list.New()}
}

// touch finds the track of a key, or begins it, for a call. It stays at least until
// worked is told that no calls are left in it: there must not be two of a key.
func (r *registry) touch(c *call) *track {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.byName[c.key.Name]; e != nil {
		r.order.MoveToFront(e)
		t := e.Value.(*track)
		t.busy++
		return t
	}
	for e := r.order.Back(); e != nil && r.order.Len() >= r.limit; {
		before := e.Prev()
		if t := e.Value.(*track); t.busy == 0 && t.try() { // nobody works on it
			t.evicted = true
			r.late = later(r.late, t.late)
			t.unlock()
			r.order.Remove(e)
			delete(r.byName, t.key.Name)
			if !t.equal {
				r.unverified++
			}
		}
		e = before
	}
	t := &track{latch: newLatch(), key: c.key, op: c.op, busy: 1, late: r.late}
	r.byName[c.key.Name] = r.order.PushFront(t)
	return t
}

// worked notes how many calls are left in a track.
func (r *registry) worked(t *track, left int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.busy = left
}

func (r *registry) len() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int64(r.order.Len())
}

// sharing returns another key under which this process has left a value of this digest,
// rather one whose name is alike: the hidden path may store both under one name.
func (r *registry) sharing(t *track, d digest) (other rmw.Key) {
	tracks, _ := r.all()
	for _, u := range tracks {
		if u == t || !u.try() {
			continue
		}
		holds := u.remembers(d)
		u.unlock()
		if alike := strings.EqualFold(u.key.Name, t.key.Name) ||
			strings.HasPrefix(u.key.Name, t.key.Name) || strings.HasPrefix(t.key.Name, u.key.Name); holds && alike {
			return u.key
		}
		if holds {
			other = u.key
		}
	}
	return other
}

// all returns the tracks, the one touched longest ago first.
func (r *registry) all() (tracks []*track, unverified int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for e := r.order.Back(); e != nil; e = e.Prev() {
		tracks = append(tracks, e.Value.(*track))
	}
	return tracks, r.unverified
}

// copied is the last copy that was made of the serving path's value.
type copied struct {
	began, ended time.Time
	value        digest
}

// covers reports whether a call had ended before the copy was begun, and so is part of it.
func (c copied) covers(it *item) bool { return it.ended.Before(c.began) }

// perhaps returns, of calls, those that ended while the copy was made and lead to what it
// holds. They are part of it, unless that value comes twice.
func (c copied) perhaps(calls []*item) map[*item]bool {
	found, leads := map[*item]bool{}, map[digest]bool{c.value: true}
	for more := true; more; {
		more = false
		for _, it := range calls {
			if !found[it] && leads[it.is] && !it.ended.After(c.ended) {
				found[it], leads[it.was], more = true, true, true
			}
		}
	}
	return found
}

// abandon gives up what waits, and what was known: with it, a part of the chain is missing.
func (t *track) abandon() (pending []*item) {
	pending, t.pending = t.pending, nil
	t.known, t.gap = false, true
	return pending
}

// holds notes what the hidden path holds now.
func (t *track) holds(d digest) {
	if !t.known || d != t.left {
		t.moved = time.Now()
	}
	t.known, t.left, t.since, t.sure = true, d, time.Now(), false
	t.remember(d)
}

// remember notes a value that is part of the key's history.
func (t *track) remember(d digest) {
	if !t.remembers(d) {
		t.recent[t.at%len(t.recent)] = d
		t.at++
	}
}

func (t *track) remembers(d digest) bool {
	return slices.Contains(t.recent[:min(t.at, len(t.recent))], d)
}
