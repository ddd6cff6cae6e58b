package shadow

import (
	"context"
	"strconv"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// conflict is a trial of the free run: two updates of a new scratch key are made to
// overlap, and both must show in what is stored afterwards. The first update stays in fn
// until the second one is acknowledged, but no longer than hold. So a lease that ends
// before fn does, and a write or a delete without a guard, lose an update.
type conflict struct {
	*free
	it      *item
	key     rmw.Key
	size    int           // of the value, always the same: a guard must compare more than lengths
	deletes bool          // the first update deletes the key
	hold    time.Duration // the first update stays in fn this long, at most

	seed, first, second string // ids of the three updates
	before              link   // given to the first update, the last time
	rival               chan attempt
	held                bool
}

// attempt is the outcome of an update.
type attempt struct {
	rmw.Result
	err error
}

const (
	// minHold is long enough for another update to come in between, if nothing prevents it.
	minHold = 10 * time.Millisecond
	// The value is longer in one conflict of four: a guard may compare the beginning only.
	conflictBytes, longConflictBytes = 256, 4 << 10
)

// conflicts tells whether a call is played as a conflict: one in four, among them all
// later ones of which fn's time is known. See clocked.
func conflicts(id uint64) bool { return id*0x9e3779b97f4a7c15>>62 == 0 }

// conflict plays a call as a conflict, if there is room. It reports false, and settles
// nothing, if the trial has no result: then the call races like others, and whatever
// prevents that is counted there.
func (f *free) conflict(it *item) (settled bool) {
	select {
	case f.trials <- struct{}{}:
		defer func() { <-f.trials }()
	default:
		return false
	}
	id := f.me + strconv.FormatUint(it.id, 36)
	c := &conflict{
		free: f, it: it, size: conflictBytes,
		key:     rmw.Key{Name: scratch("pair", it.key, id), Kind: it.key.Kind, TTL: seedTTL, Label: it.key.Label},
		deletes: !it.next.Exists() || it.id%2 == 0,
		hold:    min(max(it.inFn, minHold), f.book.cfg.Timeout/4),
		seed:    id + ".0", first: id + ".1", second: id + ".2",
		rival: make(chan attempt, 1),
	}
	if it.id%8 < 2 {
		c.size = longConflictBytes
	}
	return c.run()
}

func (c *conflict) run() (settled bool) {
	began := time.Now()
	if err := c.ask(func(ctx context.Context) error {
		_, err := c.hidden.Update(ctx, c.key, c.append(c.seed))
		return err
	}); err != nil {
		return false
	}
	first := c.try(c.overlapped)
	if !c.held {
		return false // fn did not run
	}
	second := <-c.rival
	if first.err != nil {
		return false
	}
	v, err := c.read(c.key)
	if err != nil || time.Since(began)+c.it.op.compare.tolerance >= seedTTL {
		return false
	}
	_ = c.try(func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.Value{}, nil }) // it would expire
	contended := first.Attempts > 1 || first.Waited > 0 || second.Attempts > 1 || second.Waited > 0
	class, explain := c.judge(linkOf(v), second.err == nil)
	if class != report.Match {
		explain += "; its fn ran for up to " + c.hold.Round(time.Microsecond).String()
	}
	c.found(ack{item: c.it, contended: contended}, class, explain)
	return true
}

// try runs an update that is not counted in Health: a path may give up in a conflict that
// is made.
func (c *conflict) try(fn rmw.UpdateFunc) (a attempt) {
	ctx, cancel := context.WithTimeout(c.ctx, c.book.cfg.Timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			a.err = errPanicked
		}
	}()
	a.Result, a.err = c.hidden.Update(ctx, c.key, fn)
	return a
}

// append returns an update that appends an id to the link.
func (c *conflict) append(id string) rmw.UpdateFunc {
	return func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		return linkOf(cur).then(id).value(c.key.Kind, c.size), nil
	}
}

// overlapped is the first update. In its first run it starts the second update, and
// waits for it.
func (c *conflict) overlapped(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
	c.before = linkOf(cur)
	if !c.held {
		c.held = true
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.rival <- c.try(c.append(c.second))
		}()
		hold := time.NewTimer(c.hold)
		defer hold.Stop()
		select {
		case <-ended:
		case <-hold.C:
		case <-ctx.Done():
		}
	}
	if c.deletes {
		return rmw.Value{}, nil
	}
	return c.append(c.first)(ctx, cur)
}

// judge compares the stored link with the acknowledged updates: the first one,
// and maybe the second one.
func (c *conflict) judge(stored link, second bool) (report.Class, string) {
	switch {
	case !c.deletes && stored.count(c.first) == 0:
		return report.LostUpdate, "two updates overlapped, and the first one is lost"
	case stored.count(c.first) > 1, second && stored.count(c.second) > 1:
		return report.DoubleApply, "two updates overlapped, and one of them was applied twice"
	case !c.deletes && second && stored.count(c.second) == 0:
		return report.LostUpdate, "an update overwrote another one that was made while its fn ran"
	case !c.deletes:
		return report.Match, ""
	case stored.count(c.seed) > 0:
		return report.LostUpdate, "a delete was acknowledged, and what it deleted is still there"
	case second && c.before.count(c.second) == 0 && stored.count(c.second) == 0:
		return report.LostUpdate, "a delete removed an update that was made while its fn ran"
	}
	return report.Match, ""
}
