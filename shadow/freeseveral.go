package shadow

import (
	"context"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// together is an acknowledged update of several keys, which has a commit in the chain of each key that it wrote. It is
// settled once, when the last of these commits is. The lock of free guards it.
type together struct {
	whole ack // of the call
	left  int // commits that are not settled
	seen  int // commits with a known place in their chain
	total int
	worst finding
}

// raceTogether commits links for all keys that a call wrote, in one Transact. So an update that is stored in part ends a chain.
func (f *free) raceTogether(it *item) {
	var links []*linkUpdate
	for _, part := range f.parts(it) {
		if part.written {
			links = append(links, f.newLink(part))
		}
	}
	keys := make([]rmw.Key, len(links))
	for i, l := range links {
		keys[i] = l.key
	}
	a := ack{item: it, id: f.idOf(it), began: time.Now()}
	res, err := f.hidden.transact(keys, putEach(keys, func(ctx context.Context, i int, cur rmw.Value) (rmw.Value, error) {
		return links[i].run(ctx, cur)
	}))
	a.at = time.Now()
	if err != nil {
		f.settle(it, report.Free, f.hidden.failure(it.call, err, "an update of several scratch keys"))
		return
	}
	a.contended = contended(res.Attempts, res.Waited)
	f.recordCommit(a, res.Waited)
	f.mu.Lock()
	defer f.mu.Unlock()
	all := &together{whole: a, left: len(links), total: len(links), worst: finding{class: report.Match}}
	for _, l := range links {
		a.item, a.of, a.n = l.it, all, l.after.n
		f.committedLocked(l, a)
	}
}

// putEach returns a TxFunc that gets all keys, and then puts what next makes of each.
func putEach(keys []rmw.Key, next func(ctx context.Context, i int, cur rmw.Value) (rmw.Value, error)) rmw.TxFunc {
	return func(ctx context.Context, tx *rmw.Tx) error {
		given := make([]rmw.Value, len(keys))
		for i, key := range keys {
			given[i] = tx.Get(key)
		}
		for i, key := range keys {
			v, err := next(ctx, i, given[i])
			if err != nil {
				return err
			}
			tx.Put(key, v)
		}
		return nil
	}
}

// settlePartLocked settles one commit of several. A difference outranks a missing comparison, and that a match.
func (f *free) settlePartLocked(a ack, result finding, known bool) {
	all := a.of
	result.at = a.key
	if known {
		all.seen++
	}
	switch worst := &all.worst; {
	case result.class.Blocks() && !worst.class.Blocks():
		*worst = result
	case result.class.Blocks() && result.class == worst.class:
		worst.also = append(worst.also, result)
	case result.missed != "" && !worst.class.Blocks():
		*worst = result
	}
	if all.left--; all.left > 0 {
		return
	}
	if all.seen == all.total || all.worst.class.Blocks() {
		f.audited(all.whole, all.worst)
		return
	}
	f.settle(all.whole.item, report.Free, all.worst)
}
