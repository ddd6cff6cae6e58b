package shadow

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/notcompared"
	"github.com/unwatch/unwatch/shadow/report"
)

// free lets updates race on scratch keys of the hidden path, and audits the chain of their
// commits. Each update writes a link, which counts the commits and holds the ids of the
// last ones. A link is as large as the value that the serving path wrote, and of the same
// kind. Some calls are played as a conflict instead.
type free struct {
	*engine

	mu        sync.Mutex
	chains    map[string]*chain // by the key's name
	racing    atomic.Int64      // calls that commit at present
	auditNow  chan struct{}
	conflicts chan struct{} // limits conflicts in flight

	probes chan struct{} // limits probes to one, which guards the fields below
	probed [2]int        // by Kind
	leaks  leaks
	// blockedAt is when a probe last found a key locked. Each try leaves a goroutine if the path ignores its ctx.
	blockedAt time.Time
}

// chain holds the commits of this process to a scratch key that the audit has not found yet.
type chain struct {
	key        rmw.Key
	last       time.Time // of the last commit
	acks       []ack
	latest     link          // that this process has committed
	dated      ack           // the commit that set the expiry, without its item; later ones keep the expiry
	datedByKey bool          // by Key.TTL, not by Value.WithTTL
	compared   bool          // the expiry
	tolerance  time.Duration // between expiries
}

// ack is an acknowledged commit.
type ack struct {
	*item
	of        *together // the update of several keys, if the item is a part of one
	n         int64     // its place in the chain
	id        string
	contended bool
	began, at time.Time // of the update
}

func contended(attempts int, waited time.Duration) bool { return attempts > 1 || waited > 0 }

const (
	auditAfter    = time.Second
	auditPatience = 10 * time.Second // until a commit of an unreadable chain is given up
	maxLinkBytes  = 16 << 10
)

// race commits a link for a call.
func (f *free) race(it *item) {
	f.racing.Add(1)
	defer func() {
		if f.racing.Add(-1); f.draining() {
			f.hurry()
		}
	}()
	if playsConflict(it.id) && f.conflict(it) {
		return
	}
	if it.several != nil {
		f.raceTogether(it)
		return
	}
	if playsProbe(it.id) && f.probe(it) {
		return
	}
	l := f.newLink(it)
	a := ack{item: it, id: l.id, began: time.Now()}
	res, err := f.hidden.update(l.key, l.run)
	a.at = time.Now()
	if err != nil {
		f.settle(it, report.Free, f.hidden.failure(it.call, err, "an update of a scratch key"))
		return
	}
	a.n, a.contended = l.after.n, contended(res.Attempts, res.Waited)
	f.recordCommit(a, res.Waited)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.committedLocked(l, a)
}

// recordCommit records the latency of an update.
func (f *free) recordCommit(a ack, waited time.Duration) {
	f.counters.locked(func(h *report.Health) {
		a.op.Candidate.Record(a.at.Sub(a.began))
		h.LockWait.Record(waited)
	})
}

// newLink returns the update that appends a link for a call.
func (f *free) newLink(it *item) *linkUpdate {
	kind := "" // a key may change its kind, a chain does not
	if it.key.Kind == rmw.KindHash {
		kind = "hash"
	}
	l := &linkUpdate{
		it: it, key: rmw.Key{Name: scratch("free", it.key, kind), Kind: it.key.Kind, Label: it.key.Label}, id: f.idOf(it),
	}
	if f.byKey(l) {
		l.key.TTL = freeTTL
	}
	return l
}

// byKey reports whether an update is to set the expiry by the key's TTL. The two ways take
// turns on a chain.
func (f *free) byKey(l *linkUpdate) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.chains[l.key.Name]; c != nil {
		return !c.datedByKey && c.latest.outdated(l.it.op.compare.tolerance)
	}
	return l.it.id&2 == 0
}

// linkUpdate is the update that appends a link. It sets the expiry if that of the link before
// is outdated, by Value.WithTTL, and always if the key has a TTL. Any other update keeps the
// expiry. A path may treat the two ways differently, so both are used.
type linkUpdate struct {
	it            *item
	key           rmw.Key
	id            string
	before, after link // of the last run
}

func (l *linkUpdate) run(_ context.Context, cur rmw.Value) (rmw.Value, error) {
	l.before = linkOf(cur)
	l.after = l.before.then(l.id)
	byKey, ttl := l.key.TTL > 0, time.Duration(0) // keeps the expiry
	if byKey || l.before.outdated(l.it.op.compare.tolerance) {
		l.after.dated, l.after.at = l.id, time.Now().UnixMilli()
		if !byKey {
			ttl = freeTTL
		}
	}
	next := l.after.value(l.key.Kind, int(min(l.it.bytes/2, maxLinkBytes)))
	if l.key.Kind == rmw.KindHash && l.it.id%2 == 0 {
		// A path may guard only those fields of a hash that fn read. Every other update
		// depends on all of them.
		next = cur.WithFields(next.Fields())
	}
	return next.WithTTL(ttl), nil
}

// committedLocked adds an acknowledged commit, and looks for the earlier ones in the link that it
// was computed from.
func (f *free) committedLocked(l *linkUpdate, a ack) {
	c := f.chains[l.key.Name]
	if c == nil {
		c = &chain{key: l.key}
		f.chains[l.key.Name] = c
	}
	f.checkLocked(c, l.before, time.Time{})
	c.last, c.tolerance = a.at, a.op.compare.tolerance
	if a.n == 1 || a.n > c.latest.n {
		c.latest = l.after
	}
	if l.after.dated == l.id && (a.n > c.dated.n || a.n == 1) {
		c.dated, c.datedByKey, c.compared = a, l.key.TTL > 0, false
		c.dated.item = nil // its values may be large
	}
	c.acks = append(c.acks, a)
}

// checkLocked looks for commits in a link that was read at the given time; the zero time
// means while the commits were made.
func (f *free) checkLocked(c *chain, seen link, read time.Time) {
	expired := seen.n == 0 && time.Since(c.last) > freeTTL/2
	c.acks = slices.DeleteFunc(c.acks, func(a ack) bool {
		place := int64(len(seen.ids)) - 1 - (seen.n - a.n)
		times := seen.count(a.id)
		switch {
		case expired: // together with the evidence
			f.unknown(a)
		case times > 1:
			f.audited(a, finding{class: report.DoubleApply, explain: "an acknowledged commit is in the chain twice"})
		case times == 1:
			f.audited(a, finding{class: report.Match})
		case a.n > seen.n && !a.at.Before(read):
			return false // the link may be older than the commit
		case a.n > seen.n:
			f.audited(a, finding{class: report.LostUpdate, explain: "a commit was acknowledged, and the chain ends before it"})
		case place < 0:
			f.unknown(a)
		default:
			f.audited(a, finding{
				class: report.LostUpdate, explain: "a commit was acknowledged, and another one has taken its place in the chain",
			})
		}
		return true
	})
}

// unknown settles a commit without a visible place in the chain.
func (f *free) unknown(a ack) {
	if a.of != nil {
		f.settlePartLocked(a, finding{class: report.Match}, false)
		return
	}
	f.settle(a.item, report.Free, finding{class: report.Match})
}

// audited settles a commit with a known place in the chain.
func (f *free) audited(a ack, result finding) {
	result.legacy, result.candidate = "committed", "committed"
	if a.of != nil {
		f.settlePartLocked(a, result, true)
		return
	}
	f.counters.locked(func(*report.Health) {
		a.op.Audited++
		if a.contended {
			a.op.Contended++
		}
	})
	f.settle(a.item, report.Free, result)
}

// hurry starts the next audit at once. It does nothing while calls race: an audit would find a
// commit that one of them overwrites afterwards.
func (f *free) hurry() {
	if f.racing.Load() > 0 || len(f.races) > 0 {
		return
	}
	select {
	case f.auditNow <- struct{}{}:
	default:
	}
}

// audit reads the chains that were not continued for a while.
func (f *free) audit() {
	tick := time.NewTicker(auditAfter)
	defer tick.Stop()
	for {
		age := auditAfter
		select {
		case <-tick.C:
		case <-f.auditNow:
			age = 0
		case <-f.ctx.Done():
			return
		}
		f.auditAll(f.dueChains(age))
	}
}

// auditAll reads as many chains at once as there are workers: if each key has one call,
// there are as many chains as calls.
func (f *free) auditAll(chains []*chain) {
	var all sync.WaitGroup
	room := make(chan struct{}, f.cfg.Workers)
	for _, c := range chains {
		room <- struct{}{}
		all.Go(func() {
			f.auditChain(c)
			<-room
		})
	}
	all.Wait()
}

func (f *free) auditChain(c *chain) {
	f.mu.Lock()
	dated, timed := c.dated, f.hidden.peeker != nil && c.ripe()
	f.mu.Unlock()
	began := time.Now()
	var v rmw.Value
	var left time.Duration
	var err error
	if timed {
		v, left, err = f.hidden.peek(c.key)
	} else {
		v, err = f.hidden.read(c.key)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		seen := linkOf(v)
		if timed && seen.dated == dated.id {
			f.compareExpiryLocked(c, dated, seen, left, began)
		}
		f.checkLocked(c, seen, began)
		return
	}
	c.acks = slices.DeleteFunc(c.acks, func(a ack) bool {
		if time.Since(a.at) < auditPatience {
			return false
		}
		f.unknown(a)
		return true
	})
}

// compareExpiryLocked compares the expiry of a scratch key, read since began, with the
// expiry that a commit set. It blames a difference on the newest commit that had to keep
// the expiry.
func (f *free) compareExpiryLocked(c *chain, dated ack, seen link, left time.Duration, began time.Time) {
	newest := -1
	for i, a := range c.acks {
		if a.n > dated.n && a.n <= seen.n && (newest < 0 || a.n > c.acks[newest].n) {
			newest = i
		}
	}
	if newest < 0 {
		return
	}
	c.compared = c.compared || c.dated == dated
	a := c.acks[newest]
	want := freeTTL - time.Since(dated.at)
	if a.op.compare.near(want, left, dated.at.Sub(dated.began)+time.Since(began)) {
		return
	}
	c.acks = slices.Delete(c.acks, newest, newest+1)
	f.audited(a, expiryFinding(want, left,
		"an update that keeps the expiry has changed it: it was set some seconds before, on the same key"))
}

// dueChains returns the chains with a last commit older than age, and those with an expiry
// due for a comparison. It removes chains that need neither.
func (f *free) dueChains(age time.Duration) (chains []*chain) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, c := range f.chains {
		switch idle := time.Since(c.last); {
		case len(c.acks) == 0 && idle > max(age, datedFor(c.tolerance)):
			delete(f.chains, name)
		case len(c.acks) == 0, idle < age && !c.ripe():
		default:
			chains = append(chains, c)
		}
	}
	return chains
}

// sweep counts the remaining calls as dropped, once the workers have ended.
func (f *free) sweep() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.chains {
		for _, a := range c.acks {
			if a.of == nil {
				f.settle(a.item, report.Free, finding{missed: notcompared.DroppedMode})
			} else {
				f.settlePartLocked(a, finding{missed: notcompared.DroppedMode}, false)
			}
		}
	}
	clear(f.chains)
}

// ripe reports whether the expiry of a chain is old enough for a comparison.
func (c *chain) ripe() bool {
	return c.dated.n > 0 && !c.compared && time.Since(c.dated.at) > datedFor(c.tolerance)/2
}
