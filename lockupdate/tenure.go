package lockupdate

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// tenure takes the lock for a queue, gives the updates in it their turns, commits
// what they return, and gives the lock back. All that it sends, it sends from a
// goroutine of its own, with no caller's ctx: so a caller can leave at any moment
// without leaving anything in doubt but its own commit.
//
// The updates' functions run on their callers' goroutines, one after the other,
// each on what the one before has returned: that is the group, and it is committed
// as one. While a commit is on the way, the next group forms on top of it. If the
// commit is refused, all that was built on it runs again.
type tenure struct {
	*queue
	*work  // nil while it is parked; guarded by the queue's lock
	owner  string
	ctx    context.Context // of the commands that take and release the lock
	lease  *lease
	label  string        // of the first key
	ghost  time.Time     // when an acquire was sent whose answer is lost; it may be executed yet
	noted  *question     // whose note we have left, if any
	landed chan struct{} // as the queue's, for this tenure's release

	busyAside atomic.Bool // see aside
	givenBack atomic.Bool // the lock is, or is about to be: no note of ours may stay

	// Guarded by the queue's lock.
	running   *update   // whose fn is being called, or who is about to find out that it holds a section
	began     time.Time // when it took the lock
	turns     int       // commits and sections
	checked   time.Time // when we last asked whether others wait
	yield     bool      // they do: end as soon as what has been run is committed
	contended bool      // another process had the lock when we asked first, so that others may wait
	solo      bool      // a group was too large to commit
	lost      bool      // the lease is
	over      bool      // no more turns
}

// work is what a tenure needs while it has a goroutine. It has none while somebody
// holds a section, of which there may be a hundred thousand, so it does without then.
type work struct {
	acquisition
	poked chan struct{} // of size one: look again
	clock *time.Timer

	// Guarded by the queue's lock.
	polling   bool      // another process has the lock
	away      error     // the store cannot be reached; nil: it can
	key       rmw.Key   // whose value is loaded; its Name is empty if none is
	asOf      time.Time // when the command was sent that told what the group builds on
	group     group
	flying    bool // the commit of an earlier group is on the way
	stale     bool // running runs on a value that never came to be
	idleSince time.Time
}

const (
	// gather bounds how long an fn that has returned waits for others' to be
	// committed along with it.
	gather = time.Millisecond
	// maxGroup bounds how many updates a refused commit runs again.
	maxGroup = 256
	// quantum is how long a process with more updates waiting keeps the lock
	// before it asks whether other processes wait for it.
	quantum = 10 * time.Millisecond
)

func newTenure(q *queue) *tenure {
	return &tenure{queue: q, work: newWork(), owner: q.owners.next(), ctx: context.Background()}
}

func newWork() *work { return &work{poked: make(chan struct{}, 1)} }

// parked reports whether a section has the turn, and no goroutine is the tenure's.
func (t *tenure) parked() bool { return t.work == nil }

// busy reports whether somebody is in front of one who joins the empty line now.
func (t *tenure) busy() bool { return t.taken() || t.polling || t.flying }

// taken reports whether somebody has the turn.
func (t *tenure) taken() bool { return t.running != nil || t.parked() }

// idles reports whether one who joins need not wait.
func (t *tenure) idles() bool {
	return !t.taken() && t.lease != nil && !t.over && !t.lost && !t.yield && !t.flying && len(t.group.members) == 0
}

// mustAsk reports whether it is time to ask whether other processes wait. If they are
// known to, they need not be asked about.
func (t *tenure) mustAsk() bool {
	if t.yield || time.Since(t.checked) < quantum {
		return false
	}
	t.yield = t.contended
	return !t.contended
}

// look has the tenure's goroutine, if there is one, look again. t.mu is held.
func (t *tenure) look() {
	if t.parked() {
		return
	}
	select {
	case t.poked <- struct{}{}:
	default:
	}
}

// sleep waits for d, or for a reason to look again, or for over.
func (t *tenure) sleep(d time.Duration, over <-chan struct{}) {
	t.setClock(d)
	defer t.clock.Stop()
	select {
	case <-t.clock.C:
	case <-t.poked:
	case <-over:
	}
}

func (t *tenure) setClock(d time.Duration) {
	if t.clock == nil {
		t.clock = time.NewTimer(d)
	} else {
		t.clock.Reset(d)
	}
}

func (t *tenure) run() {
	if t.acquire() {
		t.resume()
	} else {
		t.finish()
	}
}

// resume goes on after a section.
func (t *tenure) resume() {
	if t.serve() {
		t.finish()
	}
}

// take begins to hold the lock.
func (t *tenure) take(key rmw.Key, g grant) {
	l := newLease(t, t.sent)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lease, t.label, t.contended, t.polling = l, key.Label, t.polling, false
	t.began = time.Now()
	t.checked = t.began
	if g.loaded {
		t.load(key, g.value, t.sent)
	}
}

// load has the next group build on what a command sent at asOf has found.
func (t *tenure) load(key rmw.Key, v rmw.Value, asOf time.Time) {
	t.key, t.asOf, t.group = key, asOf, newGroup(v)
}

// serve gives turns and commits until nobody waits, or others should have the lock.
// It returns false at a section, where somebody else goes on.
func (t *tenure) serve() bool {
	for {
		t.mu.Lock()
		do, parked := t.next(), t.parked()
		t.over = do == nil && !parked
		t.mu.Unlock()
		if do == nil {
			return !parked
		}
		do()
	}
}

// next decides what to do now; nil ends the tenure.
func (t *tenure) next() func() {
	t.advance()
	group, first := len(t.group.members), t.first
	switch {
	case group > 0 && (t.running == nil || t.lost):
		return t.commit
	case group > 0:
		left := gather - time.Since(t.group.began)
		if left <= 0 {
			return t.commit
		}
		return func() { t.sleep(left, nil) }
	case t.running != nil && t.lost:
		t.running.phase = adrift
		t.running = nil
		return nil
	case t.running != nil:
		return func() { <-t.poked }
	case t.lost || t.yield:
		return nil
	case first == nil:
		return t.idle()
	case t.turns > 0 && t.mustAsk():
		return t.ask
	case t.yield:
		return nil
	case first.section:
		t.enterSection()
		return nil
	}
	return t.read // no turn could be given, so there is no value for it
}

// read reads the value for the first in the line.
func (t *tenure) read() {
	t.mu.Lock()
	u := t.first
	t.key = rmw.Key{} // nobody may join what load is going to replace
	t.mu.Unlock()
	if u == nil {
		return
	}
	sent := time.Now()
	ctx := t.contextOf(u)
	v, err := t.Store.read(ctx, u.key)
	if err != nil {
		t.refuseKey(u.key, redisx.Blame(ctx, err))
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.load(u.key, v, sent)
}

// refuseKey answers those who wait for a key that cannot be read.
func (t *tenure) refuseKey(key rmw.Key, err error) {
	t.refuse("read", err, func(u *update) bool { return u.key.Name == key.Name && u.key.Kind == key.Kind })
}

// idle keeps the lock a little for the next update, or ends the tenure.
func (t *tenure) idle() func() {
	if t.idleSince.IsZero() {
		t.idleSince = time.Now()
	}
	left := t.cfg.Keep - time.Since(t.idleSince)
	if left <= 0 || t.gate.Closed() {
		return nil
	}
	return func() { t.sleep(left, t.gate.Closing) }
}

// breathe lets those run who have just been answered: their next updates can join
// the group that is about to be committed.
func breathe() { runtime.Gosched() }
