package shadow

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// conflict is a trial of the free run: two updates of a new scratch key overlap, and both
// must show in the stored value. For an update of several keys, both are such updates of as many scratch keys, or the second
// one is an update of the last key alone. The first update stays in fn until the second one is
// acknowledged, for at most hold. So a lease that ends before fn does, and a write or a
// delete without a guard, lose an update.
type conflict struct {
	*free
	it      *item
	keys    []rmw.Key     // scratch keys
	of      []rmw.Key     // the keys of the call
	rivals  []rmw.Key     // of the second update: all, or the last
	size    int           // of the value; constant, as a guard must compare more than lengths
	deletes bool          // the first update deletes the key
	hold    time.Duration // the longest time that the first update stays in fn

	seed, first, second string        // ids of the three updates
	before              []link        // given to the last run of the first update
	rival               attempt       // of the second update
	ended               chan struct{} // closed when rival is set; nil before the second update
}

// attempt is the outcome of an update.
type attempt struct {
	contended bool
	err       error
}

const (
	// minHold lets another update come in between, if nothing prevents it.
	minHold = 10 * time.Millisecond
	// One value in four is longer: a guard may compare only the beginning.
	conflictBytes, longConflictBytes = 256, 4 << 10
)

// playsConflict selects one call in four. Calls after the first 4,096 are selected only if
// the time of their fn is known; see clocked.
func playsConflict(id uint64) bool { return id*0x9e3779b97f4a7c15>>62 == 0 }

// conflict plays a call as a conflict, if there is room. It returns false, and settles
// nothing, if the trial has no result: then the call races like the others, which counts
// the cause.
func (f *free) conflict(it *item) (settled bool) {
	select {
	case f.conflicts <- struct{}{}:
		defer func() { <-f.conflicts }()
	default:
		return false
	}
	id := f.idOf(it)
	c := &conflict{
		free: f, it: it, size: conflictSize(it.id),
		keys: []rmw.Key{pairKey(it.key, id)}, of: []rmw.Key{it.key},
		deletes: !it.next.Exists() || it.id%2 == 0,
		hold:    min(max(it.inFn, minHold), f.cfg.Timeout/4),
		seed:    id + ".0", first: id + ".1", second: id + ".2",
	}
	c.rivals = c.keys
	if it.several != nil {
		c.keys, c.of = nil, nil
		for i, part := range f.parts(it) {
			if part.written {
				c.keys = append(c.keys, pairKey(part.key, id+"."+strconv.Itoa(i)))
				c.of = append(c.of, part.key)
			}
		}
		c.deletes = it.id%2 == 0
		if c.rivals = c.keys; it.id%3 == 0 {
			c.rivals = c.keys[len(c.keys)-1:]
		}
	}
	c.before = make([]link, len(c.keys))
	return c.run()
}

func pairKey(key rmw.Key, id string) rmw.Key {
	return rmw.Key{Name: scratch("pair", key, id), Kind: key.Kind, TTL: seedTTL, Label: key.Label}
}

func conflictSize(id uint64) int {
	if id%8 < 2 {
		return longConflictBytes
	}
	return conflictBytes
}

func (c *conflict) run() (settled bool) {
	began := time.Now()
	for _, key := range c.keys {
		if _, err := c.hidden.update(key, c.append(key, c.seed)); err != nil {
			return false
		}
	}
	first := c.try(c.keys, c.overlapped)
	if c.ended == nil {
		return false // fn did not run
	}
	<-c.ended
	if first.err != nil {
		return false
	}
	f := finding{class: report.Match}
	for i, key := range c.keys {
		v, err := c.hidden.read(key)
		if err != nil || time.Since(began)+c.it.op.compare.tolerance >= seedTTL {
			return false
		}
		if of := c.judge(linkOf(v), c.before[i], c.rival.err == nil && slices.Contains(c.rivals, key)); f.class == report.Match {
			f, f.at = of, c.of[i]
		}
	}
	for _, key := range c.keys { // without it, the key would stay until it expires
		_ = c.try([]rmw.Key{key}, func(context.Context, int, rmw.Value) (rmw.Value, error) { return rmw.Value{}, nil })
	}
	if f.class != report.Match {
		f.explain += "; its fn ran for up to " + c.hold.Round(time.Microsecond).String()
	}
	c.audited(ack{item: c.it, contended: first.contended || c.rival.contended}, f)
	return true
}

// try runs an update that Health does not count: a path may give up in a forced conflict.
func (c *conflict) try(keys []rmw.Key, fn func(ctx context.Context, i int, cur rmw.Value) (rmw.Value, error)) (a attempt) {
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.Timeout)
	defer cancel()
	defer c.counters.recoverAs(&a.err)
	if len(keys) == 1 && (c.it.several == nil || len(c.keys) > 1) {
		res, err := c.hidden.store.Update(ctx, keys[0], func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			return fn(ctx, 0, cur)
		})
		return attempt{contended(res.Attempts, res.Waited), err}
	}
	res, err := rmw.Transact(ctx, c.hidden.store, putEach(keys, fn), keys...)
	return attempt{contended(res.Attempts, res.Waited), err}
}

// append returns an update that appends an id to the link.
func (c *conflict) append(key rmw.Key, id string) rmw.UpdateFunc {
	return func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		return linkOf(cur).then(id).value(key.Kind, c.size), nil
	}
}

// overlapped is the first update. Its first run starts the second update and waits for it.
func (c *conflict) overlapped(ctx context.Context, i int, cur rmw.Value) (rmw.Value, error) {
	c.before[i] = linkOf(cur)
	if c.ended == nil {
		c.ended = make(chan struct{})
		go func() {
			defer close(c.ended)
			c.rival = c.try(c.rivals, func(ctx context.Context, i int, cur rmw.Value) (rmw.Value, error) {
				return c.append(c.rivals[i], c.second)(ctx, cur)
			})
		}()
		hold := time.NewTimer(c.hold)
		defer hold.Stop()
		select {
		case <-c.ended:
		case <-hold.C:
		case <-ctx.Done():
		}
	}
	if c.deletes {
		return rmw.Value{}, nil
	}
	return c.append(c.keys[i], c.first)(ctx, cur)
}

// judge compares the stored link with the first update, which was acknowledged, and with
// the second one, which may have been.
func (c *conflict) judge(stored, before link, second bool) finding {
	lost := func(explain string) finding { return finding{class: report.LostUpdate, explain: explain} }
	switch {
	case !c.deletes && stored.count(c.first) == 0:
		return lost("two updates overlapped, and the first one is lost")
	case stored.count(c.first) > 1, second && stored.count(c.second) > 1:
		return finding{class: report.DoubleApply, explain: "two updates overlapped, and one of them was applied twice"}
	case !c.deletes && second && stored.count(c.second) == 0:
		return lost("an update overwrote another one that was made while its fn ran")
	case c.deletes && stored.count(c.seed) > 0:
		return lost("a delete was acknowledged, and the deleted value is still there")
	case c.deletes && second && before.count(c.second) == 0 && stored.count(c.second) == 0:
		return lost("a delete removed an update that was made while its fn ran")
	}
	return finding{class: report.Match}
}
