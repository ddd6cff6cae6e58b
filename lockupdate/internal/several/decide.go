package several

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
	"github.com/unwatch/unwatch/rmw"
)

// decide stores the values of done, answers all calls, and opens the keys. If nothing is to be written, the decision is that the
// update is aborted: if this is the first decision, the keys were sealed all the time, and their values are of one moment.
func (b *batch) decide(done, failed []*turn) error {
	next := make([]seal.Next, 0, len(b.held))
	writes := false
	for _, h := range b.held {
		n := h.next()
		next, writes = append(next, n), writes || !n.Kept
	}
	record := seal.Aborted
	if writes {
		record = seal.Committed(next)
	}
	ours, err := b.decideAs(record)
	switch {
	case errors.Is(err, rmw.ErrOutcomeUnknown):
		b.judge(failed, errChanged)
		return err // the next process that meets a seal goes on
	case err != nil: // refused
		b.judge(failed, errChanged)
		b.giveBack(nil)
		return err
	case !ours:
		b.line.options.Emit(b.ctx, Conflicted, b.keys[0], len(done)+len(failed), nil)
		b.judge(failed, errChanged)
		b.giveBack(nil)
		return nil
	}
	b.judge(failed, nil)
	if !writes {
		next = b.kept(nil)
	}
	b.next = next
	b.line.settle(b, done)
	if len(done) > 1 && writes {
		b.line.options.Emit(b.ctx, Combined, b.keys[0], len(done), nil)
	}
	return nil
}

// decideAs makes the decision. It reports whether it is the one that was asked for, and not that of a process that has
// aborted the update. An error is one of a decision that was not made, unless it is an rmw.ErrOutcomeUnknown.
func (b *batch) decideAs(record string) (ours bool, err error) {
	c := driver.Decide(b.decision, b.id, record)
	if err = b.line.transport.Once(b.ctx, c); err == nil {
		var n int64
		if n, err = c.Integer(); err == nil {
			return n == 1, nil
		}
	}
	switch {
	case redisx.IsWrongType(err):
		return false, fmt.Errorf("%w: the key %.128q is not a hash of decisions: another program uses that name", rmw.ErrWrongKind, b.decision)
	case redisx.OutcomeOf(err) == redisx.NotDone && !errors.Is(err, rmw.ErrOutcomeUnknown):
		return false, err
	}
	return b.ask(record, err)
}

// ask asks for a decision after a lost reply, by a decision that the update is aborted.
func (b *batch) ask(record string, lost error) (ours bool, err error) {
	var d seal.Decision
	var own bool
	err = b.line.transport.UntilReached(b.ctx, func() (err error) {
		d, own, err = seal.Abort(b.ctx, b.line.values, b.decision, b.id)
		return err
	})
	switch {
	case err != nil || !d.Made:
		return false, redisx.Because(rmw.ErrOutcomeUnknown, errors.Join(lost, err))
	case record == seal.Aborted:
		return false, nil // ours, or that of another process
	case d.Committed:
		return true, nil
	case own && b.lostForGood():
		return false, redisx.Because(rmw.ErrUnavailable, lost)
	}
	return false, nil
}

// kept returns the keys of the attempt that which chooses, all if it is nil, with the values that they had.
func (b *batch) kept(which func(*held) bool) (next []seal.Next) {
	for _, h := range b.held {
		if which == nil || which(h) {
			next = append(next, seal.Next{Key: h.key.Name, Nonce: h.nonce, Kept: true})
		}
	}
	return next
}

// giveBack opens keys with the values that they had. Only an attempt that is never decided may do so.
func (b *batch) giveBack(which func(*held) bool) {
	next := b.kept(which)
	for _, n := range next {
		delete(b.held, n.Key)
	}
	ctx, cancel := context.WithTimeout(b.ctx, answerWithin)
	defer cancel()
	if left, again := openAll(ctx, b.line.transport, next); len(left) > 0 {
		b.line.gate.Go(func() { b.line.openLater(left, again) })
	}
}

// end opens the keys of a decided attempt, and then deletes the decision. The callers are answered. If it takes long, the keys
// are free for others before.
func (b *batch) end() {
	limit := time.AfterFunc(answerWithin, func() { b.line.finish(b) })
	left, again := openAll(b.ctx, b.line.transport, b.next)
	limit.Stop()
	b.line.finish(b)
	if b.line.openLater(left, again) {
		_ = b.line.transport.Do(context.Background(), new(transport.Outage), driver.Forget(b.decision, b.id))
	}
}

// openLater opens keys that could not be opened yet, and reports whether it has. Else the next sweep, or a process that meets a
// seal, goes on. again is that of openAll.
func (l *Line) openLater(left []seal.Next, again bool) bool {
	ctx := context.Background()
	for try := 1; len(left) > 0; try++ {
		if try > openTries || !again || !l.pause(min(time.Millisecond<<try, time.Second)) {
			for _, n := range left {
				l.index.stick(n.Key)
			}
			return false
		}
		left, again = openAll(ctx, l.transport, left)
	}
	return true
}

// pause waits for d. It reports false if Close waits no longer.
func (l *Line) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.gate.GaveUp:
	}
	return !l.gate.GivenUp()
}

// openTries bounds how often a process tries to open a key: for about half a minute.
const openTries = 40

// openAll opens keys in one flush, and returns those that are not open for certain. again is false if a server refuses
// to open one of them, as without a right.
func openAll(ctx context.Context, t *transport.Transport, next []seal.Next) (left []seal.Next, again bool) {
	if len(next) == 0 {
		return nil, true
	}
	cmds := make([]*driver.Command, len(next))
	for i, n := range next {
		cmds[i] = driver.Open(n)
	}
	if t.Do(ctx, new(transport.Outage), cmds...) != nil {
		return next, true
	}
	again = true
	for i, n := range next {
		status, err := cmds[i].Integer()
		if err != nil || status == 3 {
			left = append(left, n)
		}
		again = again && (err == nil || !errors.Is(redisx.Reason(err), rmw.ErrUnsupported))
	}
	return left, again
}

// again has an attempt repeated after lost replies, as long as an outage may last. Nothing was written.
func (b *batch) again(err error) error {
	if b.lostForGood() {
		if err == nil || errors.Is(err, rmw.ErrOutcomeUnknown) {
			err = errors.New("the store did not answer in time")
		}
		return redisx.Because(rmw.ErrUnavailable, err)
	}
	return b.line.transport.Pause(b.ctx, b.lost)
}

// lostForGood counts an attempt with lost replies, and reports whether it was the last one.
func (b *batch) lostForGood() bool {
	if b.lost++; b.lost == 1 {
		b.lostSince = time.Now()
	}
	return b.lost >= transport.Tries && time.Since(b.lostSince) >= b.line.options.MaxOutage
}
