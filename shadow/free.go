package shadow

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// free lets updates race on scratch keys of the hidden path, and audits the chain of
// their commits. An update writes a link: how many updates there were, and the ids of the
// last ones, so that each can be looked for later. The link is as large as what the
// serving path wrote, and of the same kind. Some calls are played as a conflict instead.
type free struct {
	*engine

	mu     sync.Mutex
	chains map[string]*chain // by the key's name
	soon   chan struct{}     // the audit shall not wait
	trials chan struct{}     // conflicts at once
}

// chain is what this process has committed to a scratch key, and has not found in it yet.
type chain struct {
	key       rmw.Key
	last      time.Time // of the last commit
	acks      []ack
	dated     dating
	tolerance time.Duration // of expiries
}

type ack struct {
	*item
	n         int64 // its place
	id        string
	contended bool
	at        time.Time
}

const (
	auditAfter = time.Second
	// auditPatience is how long a commit is held on to that cannot be looked for.
	auditPatience = 10 * time.Second
	maxFreePad    = 16 << 10 // bytes of a link, at most
)

func newFree(e *engine) *free {
	return &free{
		engine: e, chains: map[string]*chain{}, soon: make(chan struct{}, 1), trials: make(chan struct{}, max(1, e.book.cfg.Workers/4)),
	}
}

// race commits a link for a call.
func (f *free) race(it *item) {
	if conflicts(it.id) && f.conflict(it) {
		return
	}
	kind := "" // a key may change its kind, a chain does not
	if it.key.Kind == rmw.KindHash {
		kind = "hash"
	}
	key := rmw.Key{Name: scratch("free", it.key, kind), Kind: it.key.Kind, Label: it.key.Label}
	id := f.me + strconv.FormatUint(it.id, 36)
	var before, after link
	var res rmw.Result
	began := time.Now()
	err := f.ask(func(ctx context.Context) (err error) {
		res, err = f.hidden.Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			before = linkOf(cur)
			after = before.then(id)
			ttl := time.Duration(0) // keeps the expiry
			if now := time.Now(); before.n == 0 || now.Sub(time.UnixMilli(before.at)).Abs() > datedFor(it.op.compare.tolerance) {
				after.dated, after.at, ttl = id, now.UnixMilli(), freeTTL
			}
			next := after.value(key.Kind, int(min(it.bytes/2, maxFreePad)))
			if key.Kind == rmw.KindHash && it.id%2 == 0 {
				// Of a hash, a path may guard those fields only that fn has looked at: every other
				// update shall need all of that.
				next = cur.WithFields(next.Fields())
			}
			return next.WithTTL(ttl), nil
		})
		return err
	})
	took := time.Since(began)
	if err != nil {
		if why := f.outage(err); why != "" {
			f.pass(it, report.Free, why)
			return
		}
		f.settle(it, report.Free, refusedFinding(it.call, err, "an update of a scratch key"))
		return
	}
	f.book.raced(it, took, res.Waited)
	a := ack{item: it, n: after.n, id: id, contended: res.Attempts > 1 || res.Waited > 0, at: time.Now()}
	dated := dating{}
	if after.dated == id {
		dated = dating{n: after.n, id: id, began: began, ended: a.at}
	}
	f.committed(key, before, a, dated)
}

// committed takes in an acknowledged commit, and looks for the earlier ones in what it
// was made from. dated is not zero if the commit has set the expiry.
func (f *free) committed(key rmw.Key, before link, a ack, dated dating) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.chains[key.Name]
	if c == nil {
		c = &chain{key: key}
		f.chains[key.Name] = c
	}
	f.check(c, before, time.Time{})
	c.last, c.tolerance = a.at, a.op.compare.tolerance
	if dated.n > c.dated.n || dated.n == 1 {
		c.dated = dated
	}
	c.acks = append(c.acks, a)
}

// check looks for commits in a link that was read at some time, or, of time zero, while
// they were made. f.mu is held.
func (f *free) check(c *chain, seen link, read time.Time) {
	expired := seen.n == 0 && time.Since(c.last) > freeTTL/2
	c.acks = slices.DeleteFunc(c.acks, func(a ack) bool {
		place := int64(len(seen.ids)) - 1 - (seen.n - a.n)
		times := seen.count(a.id)
		switch {
		case expired: // and it took the evidence along
			f.unknown(a)
		case times > 1:
			f.found(a, report.DoubleApply, "an acknowledged commit is in the chain twice")
		case times == 1:
			f.found(a, report.Match, "")
		case a.n > seen.n && !a.at.Before(read):
			return false // what was seen may be of before it
		case a.n > seen.n:
			f.found(a, report.LostUpdate, "a commit was acknowledged, and the chain ends before it")
		case place < 0:
			f.unknown(a)
		default:
			f.found(a, report.LostUpdate, "a commit was acknowledged, and another one has taken its place in the chain")
		}
		return true
	})
}

// unknown ends the audit of a commit whose place cannot be seen any more.
func (f *free) unknown(a ack) { f.settleFree(a, finding{class: report.Match}, false) }

func (f *free) found(a ack, class report.Class, explain string) {
	f.settleFree(a, finding{class: class, explain: explain, legacy: "committed", candidate: "committed"}, true)
}

func (f *free) settleFree(a ack, result finding, audited bool) {
	f.book.audited(a, audited)
	f.settle(a.item, report.Free, result)
}

// hurry has the audit look at once.
func (f *free) hurry() {
	select {
	case f.soon <- struct{}{}:
	default:
	}
}

// audit looks at the chains that nobody has continued for a while.
func (f *free) audit() {
	tick := time.NewTicker(auditAfter)
	defer tick.Stop()
	for {
		age := auditAfter
		select {
		case <-tick.C:
		case <-f.soon:
			age = 0
		case <-f.ctx.Done():
			return
		}
		f.lookAt(f.stale(age))
	}
}

// lookAt looks at chains, as many at once as there are workers: of keys that have one call
// each there are as many chains as calls.
func (f *free) lookAt(chains []*chain) {
	var looks sync.WaitGroup
	room := make(chan struct{}, f.book.cfg.Workers)
	for _, c := range chains {
		room <- struct{}{}
		looks.Go(func() {
			f.look(c)
			<-room
		})
	}
	looks.Wait()
}

// look reads a chain, and judges what is acknowledged by now.
func (f *free) look(c *chain) {
	f.mu.Lock()
	dated := c.dated
	peeker, timed := rmw.As[rmw.Peeker](f.hidden)
	timed = timed && c.ripe()
	f.mu.Unlock()
	began := time.Now()
	var v rmw.Value
	var left time.Duration
	err := f.ask(func(ctx context.Context) (err error) {
		if timed {
			v, left, err = peeker.Peek(ctx, c.key)
		} else {
			v, err = f.hidden.Read(ctx, c.key)
		}
		return err
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		if seen := linkOf(v); timed && seen.dated == dated.id {
			f.compareExpiry(c, dated, seen, left, began)
		}
		f.check(c, linkOf(v), began)
		return
	}
	c.acks = slices.DeleteFunc(c.acks, func(a ack) bool {
		if time.Since(a.at) < auditPatience {
			return false // there is a next time
		}
		f.unknown(a)
		return true
	})
}

// compareExpiry compares the expiry of a scratch key, read since began, with the one that
// a commit has set. A difference is a finding of the newest commit that had to keep it. f.mu
// is held.
func (f *free) compareExpiry(c *chain, dated dating, seen link, left time.Duration, began time.Time) {
	last := -1
	for i, a := range c.acks {
		if a.n > dated.n && a.n <= seen.n && (last < 0 || a.n > c.acks[last].n) {
			last = i
		}
	}
	if last < 0 {
		return
	}
	if c.dated == dated {
		c.dated.compared = true
	}
	a := c.acks[last]
	want := freeTTL - time.Since(dated.ended)
	if a.op.compare.near(want, left, dated.ended.Sub(dated.began)+time.Since(began)) {
		return
	}
	c.acks = slices.Delete(c.acks, last, last+1)
	f.settleFree(a, finding{
		class: report.TTLDiffers, legacy: "committed", candidate: "committed",
		legacyExpiry: expiryText(want), candidateExpiry: expiryText(left),
		explain: "an update that keeps the expiry has changed it: it was set some seconds before, on the same key",
	}, true)
}

// stale returns the chains whose last commit is of some time ago, and those whose expiry
// shall be looked at. It forgets those that have nothing left to look for.
func (f *free) stale(age time.Duration) (chains []*chain) {
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

// sweep counts out what is left when the workers have ended.
func (f *free) sweep() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.chains {
		for _, a := range c.acks {
			f.pass(a.item, report.Free, report.DroppedMode)
		}
	}
	clear(f.chains)
}
