package shadow

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// free lets updates race on scratch keys of the hidden path, and audits the chain of
// their commits. What they write is a link: how many there were, and the ids of the
// last ones, so that each can be looked for later. It is as large as what the serving
// path wrote, and of the same kind.
type free struct {
	*engine

	mu     sync.Mutex
	chains map[string]*chain // by the key's name
	soon   chan struct{}     // the audit shall not wait
}

// chain is what this process has committed to a scratch key, and has not found in it yet.
type chain struct {
	key  rmw.Key
	last time.Time // of the last commit
	acks []ack
}

type ack struct {
	*item
	n         int64 // its place
	id        string
	contended bool
	at        time.Time
}

// link is what a scratch key holds.
type link struct {
	n   int64    // commits so far
	ids []string // of the last of them, the latest last
}

const (
	maxLinks   = 64 // ids that a link holds
	auditAfter = time.Second
	// auditPatience is how long a commit is held on to that cannot be looked for.
	auditPatience = 10 * time.Second
	maxFreePad    = 16 << 10 // bytes that a link is padded with, at most
)

func newFree(e *engine) *free {
	return &free{engine: e, chains: map[string]*chain{}, soon: make(chan struct{}, 1)}
}

// race commits a link for a call.
func (f *free) race(it *item) {
	kind := "" // a key may change its kind, a chain does not
	if it.key.Kind == rmw.KindHash {
		kind = "hash"
	}
	key := rmw.Key{Name: scratch("free", it.key, kind), Kind: it.key.Kind, TTL: freeTTL, Label: it.key.Label}
	id := f.me + strconv.FormatUint(it.id, 36)
	var before, after link
	var res rmw.Result
	began := time.Now()
	err := f.ask(func(ctx context.Context) (err error) {
		res, err = f.hidden.Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			before = linkOf(cur)
			after = before.then(id)
			next := after.value(key.Kind, int(min(it.bytes/2, maxFreePad)))
			if key.Kind == rmw.KindHash && it.id%2 == 0 {
				// Of a hash, a path may guard those fields only that fn has looked at: every other
				// update shall need all of that.
				return cur.WithFields(next.Fields()), nil
			}
			return next, nil
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
	f.committed(key, before, ack{item: it, n: after.n, id: id, contended: res.Attempts > 1 || res.Waited > 0, at: time.Now()})
}

// committed takes in an acknowledged commit, and looks for the earlier ones in what it
// was made from.
func (f *free) committed(key rmw.Key, before link, a ack) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.chains[key.Name]
	if c == nil {
		c = &chain{key: key}
		f.chains[key.Name] = c
	}
	f.check(c, before, time.Time{})
	c.last = a.at
	c.acks = append(c.acks, a)
}

// check looks for commits in a link that was read at some time, or, of time zero, while
// they were made. f.mu is held.
func (f *free) check(c *chain, seen link, read time.Time) {
	expired := seen.n == 0 && time.Since(c.last) > freeTTL-time.Minute
	c.acks = slices.DeleteFunc(c.acks, func(a ack) bool {
		place := int64(len(seen.ids)) - 1 - (seen.n - a.n)
		times := 0
		for _, id := range seen.ids {
			if id == a.id {
				times++
			}
		}
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

// stale returns the chains whose last commit is of some time ago, and forgets those that
// have nothing left to look for.
func (f *free) stale(age time.Duration) (chains []*chain) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, c := range f.chains {
		switch {
		case time.Since(c.last) < age:
		case len(c.acks) == 0:
			delete(f.chains, name)
		default:
			chains = append(chains, c)
		}
	}
	return chains
}

// look reads a chain, and judges what is acknowledged by now.
func (f *free) look(c *chain) {
	began := time.Now()
	v, err := f.read(c.key)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
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

func linkOf(v rmw.Value) link {
	text := v.Text()
	if v.Kind() == rmw.KindHash {
		text, _ = v.Field("chain")
	}
	head, _, _ := strings.Cut(text, "|")
	number, ids, _ := strings.Cut(head, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 {
		return link{}
	}
	return link{n: n, ids: strings.Fields(ids)}
}

func (l link) then(id string) link {
	ids := append(slices.Clone(l.ids), id)
	return link{n: l.n + 1, ids: ids[max(0, len(ids)-maxLinks):]}
}

func (l link) value(kind rmw.Kind, size int) rmw.Value {
	text := strconv.FormatInt(l.n, 10) + " " + strings.Join(l.ids, " ") + "|"
	pad := strings.Repeat(".", max(0, size-len(text)))
	if kind == rmw.KindHash {
		return rmw.Hash(map[string]string{"chain": text, "pad": pad})
	}
	return rmw.String(text + pad)
}
