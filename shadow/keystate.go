package shadow

import (
	"cmp"
	"container/list"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// keyState is all that this process knows of a key. A goroutine that works on a key holds
// its lock.
type keyState struct {
	tryMutex
	key     rmw.Key
	op      *operation // of the last call
	evicted bool       // the registry no longer has this state
	pins    int        // calls on their way to the state or pending in it; guarded by the registry's lock

	// The lockstep comparator's knowledge of the key on the hidden path.
	pending   []*item   // in the order of arrival
	waitUntil time.Time // how long the first of them waits for the call before it
	next      time.Time // of the next look meanwhile
	moved     time.Time // when the hidden path was last seen to hold another value

	known   bool      // left is the digest of the value that the hidden path holds
	left    digest    // written by this process, or seen by it
	since   time.Time // when left was set
	sure    bool      // a read has confirmed left
	gap     bool      // a call was not mirrored
	dirty   bool      // a call has left a difference
	history []digest  // of the key's last values, at most maxHistory
	copied  copied    // the last copy of the serving path's value
	life    lifetime  // of the key on the hidden path
	lateTil time.Time // until then, a write that was given up may still arrive
	retries int       // copies in a row that failed because the key had changed
	missing uint64    // of the last call, see missingLocked

	// The verifier's knowledge of the key.
	equal  bool      // both stores held the same, and no call came since
	pair   [2]digest // that differed in the last round, on the serving and on the hidden path
	healed int       // copies in a row after which the expiry differed again
	shares int64     // the Store's counter, when an expiry was last judged
}

const maxHistory = 16

// miss notes a gap if more calls of the key are missing than before.
func (t *keyState) miss(missing uint64) {
	t.gap = t.gap || missing > t.missing
	t.missing = max(t.missing, missing)
}

// abandon gives up the pending calls and the known value: the chain has a gap.
func (t *keyState) abandon() (pending []*item) {
	pending, t.pending = t.pending, nil
	t.known, t.gap = false, true
	return pending
}

// holds sets the value that the hidden path holds.
func (t *keyState) holds(d digest) {
	if !t.known || d != t.left {
		t.moved = time.Now()
	}
	t.known, t.left, t.since, t.sure = true, d, time.Now(), false
	t.remember(d)
}

// remember adds a value to the key's history.
func (t *keyState) remember(d digest) {
	if !t.remembers(d) {
		t.history = appendLast(t.history, d, maxHistory)
	}
}

func (t *keyState) remembers(d digest) bool { return slices.Contains(t.history, d) }

// lifetime is the expiry of a key on the hidden path, as this process set it.
type lifetime struct {
	known bool
	until time.Time // zero: no expiry
}

// lives notes the expiry that an update leaves.
func (t *keyState) lives(c *call, next rmw.Value) {
	switch ttl := cmp.Or(next.TTL(), c.key.TTL); {
	case ttl != 0:
		t.setLife(ttl)
	case !c.old.Exists():
		t.setLife(rmw.NoTTL)
	}
}

// setLife notes an expiry, unless a write that was given up may still replace it.
func (t *keyState) setLife(ttl time.Duration) {
	t.life = lifetime{known: t.settled()}
	if t.life.known && ttl > 0 {
		t.life.until = time.Now().Add(ttl)
	}
}

// lateFor is how long a write that was given up may still arrive.
const lateFor = time.Minute

// unsure notes a write with an unknown outcome.
func (t *keyState) unsure() {
	t.life = lifetime{}
	t.lateTil = time.Now().Add(lateFor)
}

// settled reports whether no write that was given up can still arrive.
func (t *keyState) settled() bool { return time.Now().After(t.lateTil) }

// certain reports whether no write that was given up can have arrived since left was set.
func (t *keyState) certain() bool { return t.known && t.since.After(t.lateTil) }

// expired reports whether a value may be absent because the key has expired.
func (t *keyState) expired(v rmw.Value) bool {
	life := t.life
	return !v.Exists() && (!life.known || !life.until.IsZero() && time.Until(life.until) <= t.op.compare.tolerance)
}

// copied is a copy of the serving path's value.
type copied struct {
	began, ended time.Time
	value        digest
}

// covers reports whether a call had ended before the copy began, and so is part of it.
func (c copied) covers(it *item) bool { return it.ended.Before(c.began) }

// leadingTo selects the calls that ended during the copy and lead to the copied value. They
// are part of the copy, unless that value occurs twice.
func (c copied) leadingTo(calls []*item) func(*item) bool {
	found, leads := map[*item]bool{}, map[digest]bool{c.value: true}
	for more := true; more; {
		more = false
		for _, it := range calls {
			if !found[it] && leads[it.is] && !it.ended.After(c.ended) {
				found[it], leads[it.was], more = true, true, true
			}
		}
	}
	return func(it *item) bool { return found[it] }
}

// registry holds the keys that were touched last.
type registry struct {
	limit int

	mu         sync.Mutex
	byName     map[string]*list.Element // of *keyState
	order      *list.List               // the last touched key is in front
	unverified int64                    // states evicted before the verifier had found them equal
	lateTil    time.Time                // the latest lateTil of the evicted states
}

func newRegistry(limit int) *registry {
	return &registry{limit: limit, byName: map[string]*list.Element{}, order: list.New()}
}

// touch finds or creates the state of a call's key, and pins it until unpin: a key must not
// have two states.
func (r *registry) touch(c *call) *keyState {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.byName[c.key.Name]; e != nil {
		r.order.MoveToFront(e)
		t := e.Value.(*keyState)
		t.pins++
		return t
	}
	for e := r.order.Back(); e != nil && r.order.Len() >= r.limit; {
		before := e.Prev()
		if t := e.Value.(*keyState); t.pins == 0 && t.try() {
			t.evicted = true
			if t.lateTil.After(r.lateTil) {
				r.lateTil = t.lateTil
			}
			t.unlock()
			r.order.Remove(e)
			delete(r.byName, t.key.Name)
			if !t.equal {
				r.unverified++
			}
		}
		e = before
	}
	t := &keyState{tryMutex: make(tryMutex, 1), key: c.key, op: c.op, pins: 1, lateTil: r.lateTil}
	r.byName[c.key.Name] = r.order.PushFront(t)
	return t
}

// unpin keeps a pin for each pending call.
func (r *registry) unpin(t *keyState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.pins = len(t.pending)
}

func (r *registry) len() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int64(r.order.Len())
}

// all returns the states, the one touched longest ago first.
func (r *registry) all() (states []*keyState, unverified int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for e := r.order.Back(); e != nil; e = e.Prev() {
		states = append(states, e.Value.(*keyState))
	}
	return states, r.unverified
}

// sharing returns another key to which this process mirrored a value of this digest,
// preferably one with a similar name: the hidden path may store both under one name.
func (r *registry) sharing(t *keyState, d digest) (other rmw.Key) {
	states, _ := r.all()
	for _, u := range states {
		if u == t || !u.try() {
			continue
		}
		holds := u.remembers(d)
		u.unlock()
		if !holds {
			continue
		}
		other = u.key
		if strings.EqualFold(u.key.Name, t.key.Name) ||
			strings.HasPrefix(u.key.Name, t.key.Name) || strings.HasPrefix(t.key.Name, u.key.Name) {
			return other
		}
	}
	return other
}

// tryMutex is a lock that may be held across calls of a store. testing/synctest does not
// see that a goroutine waits for a sync.Mutex, but sees one that waits for a channel.
type tryMutex chan struct{}

func (m tryMutex) lock() { m <- struct{}{} }

func (m tryMutex) unlock() { <-m }

// try locks, unless the lock is taken.
func (m tryMutex) try() bool {
	select {
	case m <- struct{}{}:
		return true
	default:
		return false
	}
}
