package several

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
	"github.com/unwatch/unwatch/rmw"
)

// call is one call of Transact or Update.
type call struct {
	line  *Line
	op    string
	owner any // of the runs of fn, by which rmw.CheckTx finds them
	ctx   context.Context
	fn    rmw.TxFunc
	keys  []rmw.Key // that are named, and those that fn got late before

	alone   bool         // not to be combined with others
	compare []rmw.Change // of a slow fn, which has run: its values are compared, and it is not called

	attempts int
	since    time.Time // when it began to wait for its next turn
	blocked  time.Duration
	waits    bool // for other calls of this process

	turns    chan *turn
	answered chan answer

	// Guarded by the Line's mu.
	batch *batch
	left  bool // the caller waits no longer
}

// names reports whether the call is known to use a key.
func (c *call) names(key string) bool {
	return slices.ContainsFunc(c.keys, func(k rmw.Key) bool { return k.Name == key })
}

// answerLocked ends the call. Its caller finds the answer, or that a batch still has the call.
func (c *call) answerLocked(a answer) {
	c.batch = nil
	c.answered <- a
}

type answer struct {
	changes []rmw.Change
	err     error
}

// The reasons to run fn again.
var (
	errChanged = errors.New("the values have changed") // or they were of two moments
	errLate    = errors.New("a key that fn got late is taken")
	errSlow    = errors.New("fn is slow")
)

// slowAfter is for how long fn may run while its keys are sealed.
const slowAfter = 250 * time.Millisecond

// Transact implements [rmw.Transactor] for keys without repetitions.
func (l *Line) Transact(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
	return l.newCall(ctx, "transact", keys, fn).run()
}

// Update is an update of one key by fn, which has run tried times. [rmw.CheckTx] finds it by the Line as its owner: it is no
// Transact.
func (l *Line) Update(ctx context.Context, key rmw.Key, fn rmw.TxFunc, tried int) (rmw.TxResult, error) {
	c := l.newCall(ctx, "update", []rmw.Key{key}, fn)
	c.owner, c.attempts = l, tried
	return c.run()
}

func (l *Line) newCall(ctx context.Context, op string, keys []rmw.Key, fn rmw.TxFunc) *call {
	return &call{
		line: l, op: op, owner: l.options.Owner, ctx: ctx, fn: fn, keys: keys, alone: l.options.NoCombining,
		turns: make(chan *turn, 1), answered: make(chan answer, 1),
	}
}

func (c *call) run() (rmw.TxResult, error) {
	l := c.line
	label := c.keys[0].Label
	if !l.slow.known(label) {
		changes, err, aborted := c.quickly()
		if !errors.Is(err, errSlow) {
			return c.result(changes, err, aborted)
		}
		l.slow.set(label, true)
	}
	began := time.Now()
	changes, err, aborted := c.slowly()
	if time.Since(began) < slowAfter/10 {
		l.slow.set(label, false)
	}
	return c.result(changes, err, aborted)
}

// overdue tells when a wait that begins now has lasted for MaxWait.
func (l *Line) overdue() <-chan time.Time {
	if l.options.MaxWait <= 0 {
		return nil
	}
	return time.After(l.options.MaxWait)
}

func (c *call) result(changes []rmw.Change, err, aborted error) (rmw.TxResult, error) {
	res := rmw.TxResult{Attempts: c.attempts, Waited: c.blocked}
	switch {
	case aborted != nil:
		return res, aborted
	case err != nil:
		if errors.Is(err, rmw.ErrOutcomeUnknown) {
			c.line.options.Emit(c.ctx, Unknown, c.keys[0], 1, err)
		}
		return res, driver.Fail(c.op, c.keys[0], c.attempts, redisx.Blame(c.ctx, err))
	}
	res.Changes = slices.Clone(changes)
	for i := range res.Changes {
		res.Changes[i].After = res.Changes[i].After.WithTTL(0)
	}
	return res, nil
}

// quickly runs fn while the keys are sealed.
func (c *call) quickly() (changes []rmw.Change, err, aborted error) {
	c.since = time.Now()
	limit := c.line.overdue()
	c.line.enter(c)
	for {
		left := error(nil)
		select {
		case t := <-c.turns:
			aborted, err := t.run()
			switch {
			case aborted != nil:
				return nil, nil, aborted
			case errors.Is(err, errChanged) || err == nil: // the batch goes on with it
			default:
				return nil, err, nil
			}
			limit = c.line.overdue()
			continue
		case a := <-c.answered:
			return a.changes, a.err, nil
		case <-c.ctx.Done():
			left = c.ctx.Err()
		case <-c.line.gate.GaveUp:
			left = rmw.ErrClosed
		case <-limit:
		}
		if a, is := c.leave(left); is {
			return a.changes, a.err, nil
		}
	}
}

// leave ends the wait of the caller, for a reason, or without one because of MaxWait. Nothing is stored for it, unless the decision
// is under way: then MaxWait does not end the wait.
func (c *call) leave(reason error) (a answer, is bool) {
	l := c.line
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case a := <-c.answered: // both at once: the answer is worth more
		return a, true
	default:
	}
	deciding := c.batch != nil && c.batch.deciding
	c.left = reason != nil || !deciding
	if c.left && c.batch == nil {
		l.waiting = slices.DeleteFunc(l.waiting, func(w *call) bool { return w == c })
		l.startLocked()
	}
	contended := c.waits || c.batch != nil && c.batch.blocked
	switch {
	case reason != nil && deciding:
		reason = redisx.Because(rmw.ErrOutcomeUnknown, reason)
	case reason == nil && contended:
		reason = fmt.Errorf("%w: updates of other callers still in the way after Config.MaxWait (%v)", rmw.ErrContended, l.options.MaxWait)
	case reason == nil:
		reason = transport.NoAnswer(l.options.MaxWait)
	}
	return answer{err: reason}, c.left
}

// slowly runs fn on values that are not sealed, and then compares them.
func (c *call) slowly() (changes []rmw.Change, err, aborted error) {
	c.alone = true
	named := c.keys
	for c.attempts < c.line.options.MaxAttempts {
		given := make([]rmw.Value, len(named))
		for i, key := range named {
			if given[i], err = c.line.values.Read(c.ctx, key); err != nil {
				return nil, err, nil
			}
		}
		c.attempts++
		run := rmw.NewTxRun(c.owner, named, given, c.readLate)
		compare := func() ([]rmw.Change, error) {
			c.compare, c.keys = run.Changes(), nil
			for _, change := range c.compare {
				c.keys = append(c.keys, change.Key)
			}
			changes, err, _ := c.quickly()
			return changes, err
		}
		aborted, err = c.call(run, func() error {
			_, err := compare()
			return err
		})
		if err == nil && aborted == nil {
			changes, err = compare()
		}
		if !errors.Is(err, errChanged) {
			return changes, err, aborted
		}
		c.line.options.Emit(c.ctx, Conflicted, named[0], 1, nil)
	}
	return nil, errTooMany(c.attempts), nil
}

// call calls fn, which Close waits for. check returns an error if the values that fn has read may not be of one moment.
func (c *call) call(run *rmw.TxRun, check func() error) (aborted, err error) {
	c.line.gate.BeginFn()
	defer c.line.gate.EndFn()
	checked := false
	validate := func() error {
		defer c.outsideFn()()
		checked = true
		run.Drop()
		return check()
	}
	aborted, err = run.Do(c.ctx, c.fn, validate)
	for _, refusal := range []error{rmw.ErrInvalid, rmw.ErrWrongKind, rmw.ErrUnsupported} {
		if !checked && errors.Is(err, refusal) { // it may come of values of two moments
			err = cmp.Or(validate(), err)
		}
	}
	return aborted, err
}

// outsideFn is for commands that a call of fn waits for. Its result must be called when they have ended.
func (c *call) outsideFn() (back func()) {
	c.line.gate.EndFn()
	return c.line.gate.BeginFn
}

// readLate reads a further key that is not sealed.
func (c *call) readLate(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	defer c.outsideFn()()
	return c.line.values.Read(ctx, key)
}

func errTooMany(attempts int) error {
	return fmt.Errorf("%w: a key had changed in each of %d runs of fn; does fn write one of these keys itself, instead of by Put?",
		rmw.ErrContended, attempts)
}

// turn is a run of fn while its keys are sealed, on the goroutine of the caller. The batch waits for its end, and
// reads the keys that fn gets late.
type turn struct {
	call    *call
	values  []rmw.Value
	blocked bool // it waited for another update
	state   atomic.Int32
	ran     chan struct{}
	wants   chan rmw.Key
	got     chan late

	// The end of fn: its changes, or that it has failed and waits for the verdict.
	changes []rmw.Change
	failed  bool
	err     error
	verdict chan error
}

// late is the value of a key that fn got late.
type late struct {
	value rmw.Value
	err   error
}

// The states of a turn.
const (
	running int32 = iota
	ran
	abandoned // by the batch: fn is slow
)

func newTurn(c *call, values []rmw.Value) *turn {
	return &turn{
		call: c, values: values,
		ran: make(chan struct{}), wants: make(chan rmw.Key), got: make(chan late, 1), verdict: make(chan error, 1),
	}
}

// run calls fn. An error other than errChanged ends the call.
func (t *turn) run() (aborted, err error) {
	c := t.call
	defer t.end() // also if fn ends its goroutine
	c.attempts++
	if t.blocked {
		c.blocked += time.Since(c.since)
	}
	defer func() { c.since = time.Now() }()
	run := rmw.NewTxRun(c.owner, c.keys, t.values, t.read)
	aborted, err = c.call(run, func() error {
		t.failed = true
		if !t.end() {
			return errSlow
		}
		select {
		case err := <-t.verdict:
			return err
		case <-c.ctx.Done(): // nothing is stored for it
			return c.ctx.Err()
		case <-c.line.gate.GaveUp:
			return rmw.ErrClosed
		case <-c.line.overdue():
			return transport.NoAnswer(c.line.options.MaxWait)
		}
	})
	if aborted != nil || t.failed {
		return aborted, err
	}
	t.changes, t.err = run.Changes(), err
	switch {
	case !t.end():
		return nil, errSlow
	case err != nil && !errors.Is(err, errLate): // the batch goes on without this call
		return nil, err
	}
	return nil, nil
}

// end ends the turn. It reports whether the batch still waits for it.
func (t *turn) end() bool {
	if t.state.CompareAndSwap(running, ran) {
		close(t.ran)
		return true
	}
	return t.state.Load() == ran
}

// read has the batch take a further key.
func (t *turn) read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	if t.state.Load() != running {
		return rmw.Value{}, errSlow
	}
	defer t.call.outsideFn()()
	select {
	case t.wants <- key:
	case <-ctx.Done():
		return rmw.Value{}, ctx.Err()
	case <-t.call.line.gate.GaveUp:
		return rmw.Value{}, rmw.ErrClosed
	case err := <-t.verdict: // the batch has abandoned it
		return rmw.Value{}, err
	}
	select {
	case got := <-t.got:
		return got.value, got.err
	case <-ctx.Done():
		return rmw.Value{}, ctx.Err()
	case <-t.call.line.gate.GaveUp:
		return rmw.Value{}, rmw.ErrClosed
	case <-t.call.line.overdue():
		return rmw.Value{}, transport.NoAnswer(t.call.line.options.MaxWait)
	}
}
