package transport

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/rmw"
)

// sendAlone sends the commands of one caller in a flush of their own. It waits for a slot of
// their lane, at most for Options.MaxOutage.
func (t *Transport) sendAlone(wait context.Context, l lane, c caller) error {
	leave, err := t.enter(wait, &l, c.cmds, nil)
	return t.sendIn(wait, l, c, leave, err)
}

// sendAgain sends commands whose flush hangs once more, by themselves, if they have no replies until there is a slot for
// them: where all is slow and nothing hangs, the first replies come sooner than a slot.
func (t *Transport) sendAgain(wait, values context.Context, ticket *driver.Ticket, cmds []*driver.Command) error {
	l := trial
	leave, err := t.enter(wait, &l, cmds, ticket.Done())
	var copies []*driver.Command
	if err == nil || errors.Is(err, errHangs) {
		copies = ticket.Claim(cmds)
	}
	if copies == nil {
		if leave != nil {
			leave()
		}
		return t.gate.Wait(wait, ticket.Done())
	}
	err = t.sendIn(wait, l, caller{ctx: values, cmds: copies}, leave, err)
	for i, c := range cmds {
		if c.Doubled = true; err == nil {
			c.Adopt(copies[i])
		}
	}
	return err
}

// sendIn sends the commands of one caller as enter has told.
func (t *Transport) sendIn(wait context.Context, l lane, c caller, leave func(), err error) error {
	switch {
	case errors.Is(err, errHangs):
		refuse(c.ctx, err, c.cmds...)
		return nil
	case err != nil:
		return err
	case l == shared:
		return t.send(wait, c.ctx, c.cmds)
	}
	if c.ticket == nil {
		driver.NoTicket(c.cmds)
	}
	flush := func() {
		defer leave()
		t.tryAlone(l, c)
	}
	if wait.Done() == nil || t.options.WaitForReply {
		flush()
		return nil
	}
	done := make(chan struct{})
	t.gate.Go(func() {
		defer close(done)
		flush()
	})
	return t.gate.Wait(wait, done)
}

// errHangs refuses commands that have waited for a slot of their lane for Options.MaxOutage.
var errHangs = fmt.Errorf("%w: a part of the store does not answer, and this key may be there", redisx.ErrNotSent)

// errBusy is a command of lane trial that got no connection in time.
var errBusy = fmt.Errorf("%w: no connection of the client was free", redisx.ErrNotSent)

// enter waits for a slot of the lane *l, which may change meanwhile, or until answered is closed. leave gives it back; it is
// nil without a slot.
func (t *Transport) enter(
	wait context.Context, l *lane, cmds []*driver.Command, answered <-chan struct{},
) (leave func(), err error) {
	b, patience := t.batcher, time.NewTimer(max(t.options.MaxOutage, OpenFor))
	defer patience.Stop()
	look := time.NewTicker(retrial / 4) // whether the lane is another one meanwhile
	defer look.Stop()
	own := &call{began: time.Now()}
	b.enterLane(own)
	defer func() {
		if leave == nil {
			b.leaveLane(own)
		}
	}()
	for {
		slots, was := b.bulkhead.slots[*l], *l
		select {
		case slots <- struct{}{}:
		case <-look.C:
			slots = nil
		case <-answered:
			return nil, nil
		case <-wait.Done():
			return nil, &notSent{wait.Err()}
		case <-t.gate.GaveUp:
			return nil, &notSent{rmw.ErrClosed}
		case <-patience.C:
			return nil, errHangs
		}
		if was == renewal {
			if slots == nil {
				continue
			}
		} else {
			*l = b.lane(cmds)
		}
		if slots != nil && *l == was {
			return func() {
				<-slots
				b.leaveLane(own)
			}, nil
		}
		if slots != nil {
			<-slots
		}
		if *l == shared {
			return nil, nil
		}
	}
}

// tryAlone is one flush in a lane.
func (t *Transport) tryAlone(l lane, c caller) {
	limit := time.Duration(0)
	if l == trial && !slices.ContainsFunc(c.cmds, func(c *driver.Command) bool { return c.Once }) {
		limit = t.batcher.hungAfter()
	}
	began := time.Now()
	t.sendGuarded(c.ctx, []caller{c}, l, limit)
	t.batcher.tried(began, c, true)
}

// limit bounds the time for a reply, with a client that looks at the deadline of a ctx. The connection
// is then closed, and free for another.
func (t *Transport) limit(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 || !t.deadlines {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d)
}

// tried learns from a flush in a lane. If it took long, the first command without a reply has hung: those after
// it may only wait for that one. If all have a reply, one of them is slow: with slow the first.
func (b *batcher) tried(began time.Time, k caller, slow bool) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	h := &b.bulkhead
	hung := now.Sub(began) >= b.hungAfterLocked()
	if unanswered([]caller{k}) == nil {
		b.answeredLocked(began, now)
	}
	culprit := slices.IndexFunc(k.cmds, func(c *driver.Command) bool { return replyOf(k, c) == none })
	if culprit < 0 && slow {
		culprit = 0
	}
	for i, c := range k.cmds {
		switch {
		case !hung:
			h.learnLocked(c, replyOf(k, c), began, now, false)
		case i < culprit:
			h.learnLocked(c, inTime, began, now, true)
		default:
			h.learnLocked(c, none, began, now, true)
		}
		if hung && i == culprit {
			k := h.hash(c.Key())
			n := h.hung[k].times
			h.hung[k] = hungKey{min(n+1, 8), now.Add(min(retrial<<n, maxRetrial))}
		}
	}
}

func (b *batcher) enterLane(c *call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bulkhead.inLanes[c] = struct{}{}
}

func (b *batcher) leaveLane(c *call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.bulkhead.inLanes, c)
}

func (b *batcher) lane(cmds []*driver.Command) lane {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchLocked(time.Now())
	return b.bulkhead.laneLocked(cmds)
}

// refuse fails commands that were not sent.
func refuse(ctx context.Context, why error, cmds ...*driver.Command) {
	for _, c := range cmds {
		c.Build(ctx, false)
		c.SetErr(redisx.Because(rmw.ErrUnavailable, why))
	}
}

// notSent is the end of a wait for a slot: the commands were not sent, and never will be.
type notSent struct{ cause error }

func (n *notSent) Error() string { return "not sent: " + n.cause.Error() }
func (n *notSent) Unwrap() error { return n.cause }

func (n *notSent) Is(target error) bool { return target == redisx.ErrNotSent }
