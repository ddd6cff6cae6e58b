package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/goroutine"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// within has fn run within change.
func within(change func(ctx context.Context, c call) error) func(call) error {
	return func(c call) error {
		return c.next(c.ctx, func(ctx context.Context) error { return change(ctx, c) })
	}
}

// outermost leaves nested calls without the flaw.
func outermost(run func(call) error) func(call) error {
	return func(c call) error {
		if c.inner {
			return c.next(c.ctx, c.fn)
		}
		return run(c)
	}
}

// instead replaces the errors of one kind.
func instead(of error, with func(c call, err error) error) func(call) error {
	return func(c call) error {
		err := c.next(c.ctx, c.fn)
		if errors.Is(err, of) {
			return with(c, err)
		}
		return err
	}
}

// takesAway takes the lock away after a call.
func takesAway(after func(c call, err error) bool) func(call) error {
	return func(c call) error {
		err := c.next(c.ctx, c.fn)
		if after(c, err) {
			c.takeAway()
		}
		return err
	}
}

// freesLost frees the lock after a call that has lost it.
func freesLost(frees func(c call, l *memoryLock) bool) func(call) error {
	return func(c call) error {
		err := c.next(c.ctx, c.fn)
		c.l.change(c.name, func(l *memoryLock) {
			if isLost(err) && frees(c, l) {
				l.free(l.owner)
			}
		})
		return err
	}
}

func wrapError(ctx context.Context, c call) error {
	if err := c.fn(ctx); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

func swallowPanic(c call) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return c.next(c.ctx, c.fn)
}

// abandons keeps the lock if fn ends its goroutine, and perhaps if it panics.
func abandons(onPanic bool) func(call) error {
	return within(func(ctx context.Context, c call) error {
		returned := false
		defer func() {
			p := recover()
			if !returned && (p == nil || onPanic) {
				c.keep()
			}
			if p != nil {
				panic(p)
			}
		}()
		err := c.fn(ctx)
		returned = true
		return err
	})
}

func ignoreEnded(c call) error {
	ctx := c.ctx
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	return c.next(ctx, c.fn)
}

// valueless is a ctx without values.
type valueless struct{ context.Context }

func (valueless) Value(any) any { return nil }

// erringContext is a ctx with another Err.
type erringContext struct {
	context.Context

	err func() error
}

func (c erringContext) Err() error { return c.err() }

// changedHeld is a lock.Held with another token or state.
type changedHeld struct {
	lock.Held

	token func(uint64, error) (uint64, error)
	state func(lock.State) lock.State
}

func (h changedHeld) Token(ctx context.Context) (uint64, error) { return h.token(h.Held.Token(ctx)) }
func (h changedHeld) State() lock.State                         { return h.state(h.Held.State()) }

// holds runs fn with a changed lock.Held.
func holds(change func(c call, h *changedHeld)) func(call) error {
	return within(func(ctx context.Context, c call) error {
		h := changedHeld{
			Held:  ctx.Value(lock.ContextKey{}).(lock.Held),
			token: func(token uint64, err error) (uint64, error) { return token, err },
			state: func(s lock.State) lock.State { return s },
		}
		change(c, &h)
		return c.fn(context.WithValue(ctx, lock.ContextKey{}, h))
	})
}

// firstToken has fn's ctx return its first token instead of some errors.
func firstToken(instead func(c call, err error) bool) func(call) error {
	return holds(func(c call, h *changedHeld) {
		first, _ := h.Held.Token(c.ctx)
		h.token = func(token uint64, err error) (uint64, error) {
			if instead(c, err) {
				return first, nil
			}
			return token, err
		}
	})
}

// tells changes the state of fn's ctx.
func tells(change func(c call, s lock.State) lock.State) func(call) error {
	return holds(func(c call, h *changedHeld) {
		h.state = func(s lock.State) lock.State { return change(c, s) }
	})
}

func isLost(err error) bool { return errors.Is(err, rmw.ErrLockLost) }

func isContended(err error) bool { return errors.Is(err, rmw.ErrContended) }

// callFlaws are those of WithLock and TryLock.
func callFlaws() map[string]flaw {
	return map[string]flaw{
		"runs fn without a lock": {fails: "runs excludes try-taken", run: func(c call) error { return c.fn(c.ctx) }},
		"takes a goroutine for the owner": {fails: "nested-elsewhere", run: func(c call) error {
			if c.again() && c.outer.goroutine != goroutine.ID() {
				return c.next(valueless{c.ctx}, c.fn)
			}
			return c.next(c.ctx, c.fn)
		}},
		"takes fn's ctx for the owner's for ever": {only: "stale-ctx", run: func(c call) error {
			if c.outer != nil && c.outer.over.Load() && c.ctx.Err() == nil {
				return c.fn(c.ctx)
			}
			return c.next(c.ctx, c.fn)
		}},
		"gives back only when fn returns":         {fails: "panic goexit", run: abandons(true)},
		"keeps the lock if fn ends its goroutine": {only: "goexit", run: outermost(abandons(false))},
		"turns fn's panic into an error":          {fails: "panic nested-fails", run: swallowPanic},
		"turns an outermost panic into an error":  {only: "panic", run: outermost(swallowPanic)},
		"wraps fn's error":                        {fails: "error nested-fails", run: within(wrapError)},
		"wraps an outermost error":                {only: "error", run: outermost(within(wrapError))},
		"starts with an ended ctx":                {fails: "ctx-ended-before nested-fails", run: ignoreEnded},
		"starts outermost with an ended ctx":      {only: "ctx-ended-before", run: outermost(ignoreEnded)},
		"takes the lock before it looks at fn": {only: "invalid", runsNil: true, run: within(func(ctx context.Context, c call) error {
			return c.fn(ctx)
		})},
		"gives fn a ctx of its own": {fails: "ctx-values ctx-ended-in-fn", run: within(func(_ context.Context, c call) error {
			return c.fn(context.Background())
		})},
		"hides the values of the ctx": {only: "ctx-values", run: within(func(ctx context.Context, c call) error {
			return c.fn(context.WithValue(ctx, ctxKey{}, nil))
		})},
		"leaves its ctx the token of an outer lock": {fails: "token token-none", run: within(func(ctx context.Context, c call) error {
			return c.fn(context.WithValue(ctx, lock.ContextKey{}, c.ctx.Value(lock.ContextKey{})))
		})},
		"runs fn on another goroutine": {fails: "goroutine", run: within(func(ctx context.Context, c call) error {
			done := make(chan error)
			go func() { done <- c.fn(ctx) }()
			return <-done
		})},
		"gives back with an ended ctx": {fails: "ctx-ended-in-fn", run: within(func(ctx context.Context, c call) error {
			err := c.fn(ctx)
			if ctx.Err() != nil {
				c.keep()
			}
			return err
		})},
		"frees the lock when the ctx ends": {only: "ctx-ended-in-fn", run: outermost(func(c call) error {
			return c.next(c.ctx, func(ctx context.Context) error {
				defer context.AfterFunc(c.ctx, c.takeAway)()
				return c.fn(ctx)
			})
		})},
		"hides that a canceled call has waited": {only: "ctx-ended-waiting", run: instead(rmw.ErrContended, func(c call, err error) error {
			if errors.Is(c.ctx.Err(), context.Canceled) {
				return c.ctx.Err()
			}
			return err
		})},
		"takes the lock for one that gave up": {fails: "ctx-ended-waiting", run: instead(rmw.ErrContended, func(c call, err error) error {
			c.l.change(c.name, func(l *memoryLock) {
				l.queue = append(l.queue, &memoryWaiter{owner: "ghost", expires: time.Now().Add(time.Hour), wake: make(chan struct{}, 1)})
			})
			return err
		})},
		"waits in TryLock until the deadline": {only: "try-taken", run: instead(rmw.ErrContended, func(c call, err error) error {
			if end, limited := c.ctx.Deadline(); !c.wait && limited && time.Until(end) <= soon {
				<-c.ctx.Done()
			}
			return err
		})},
		"keeps the lock if fn returns ErrContended": {only: "error", run: outermost(within(func(ctx context.Context, c call) error {
			err := c.fn(ctx)
			if isContended(err) {
				c.keep()
			}
			return err
		}))},
		"detaches itself from the caller's ctx": {fails: "ctx-ended-waiting multi-lost multi-stall", run: func(c call) error {
			return c.next(context.WithoutCancel(c.ctx), c.fn)
		}},
		"derives fn's ctx, so that its Err does not ask an outer lock": {only: "multi-stall", run: func(c call) error {
			derived, cancel := context.WithCancel(c.ctx)
			defer cancel()
			return c.next(derived, c.fn)
		}},
		"gives the lock back when an inner fn returns": {fails: "nested", run: takesAway(func(c call, _ error) bool {
			return c.again()
		})},
		"gives the lock back when an inner fn fails": {only: "nested-fails", run: takesAway(func(c call, err error) bool {
			return c.again() && err != nil && !c.l.plain
		})},
		"gives the lock back although an inner fn still runs": {fails: "nested-outlives", run: func(c call) error {
			if c.again() {
				return c.next(context.WithoutCancel(c.ctx), c.fn) // or fn would notice
			}
			defer c.takeAway()
			return c.next(c.ctx, c.fn)
		}},
		"waits for its own lock": {fails: "nested nested-refused", run: func(c call) error {
			return c.next(valueless{c.ctx}, c.fn)
		}},
		"says that a lock is taken without the store": {fails: "unavailable", run: instead(rmw.ErrUnavailable, func(call, error) error {
			return rmw.ErrContended
		})},
		"runs fn when the store is down": {fails: "unavailable", run: instead(rmw.ErrUnavailable, func(c call, _ error) error {
			return c.fn(c.ctx)
		})},
		"returns nil without the lock": {fails: "taken-away", run: instead(rmw.ErrLockLost, func(call, error) error { return nil })},
		"ends fn's ctx without a cause": {fails: "taken-away cut-off", run: within(func(ctx context.Context, c call) error {
			plain, cancel := context.WithCancel(context.WithoutCancel(ctx))
			defer context.AfterFunc(ctx, cancel)()
			return c.fn(plain)
		})},
		"leaves it to a timer to end fn's ctx": {fails: "stall", run: within(func(ctx context.Context, c call) error {
			return c.fn(erringContext{ctx, func() error {
				select {
				case <-ctx.Done():
					return ctx.Err()
				default:
					return nil
				}
			}})
		})},
		"returns nil from TryLock though its lease ended before a timer could tell": {only: "stall", run: func(c call) error {
			untold := false
			err := c.next(c.ctx, func(ctx context.Context) error {
				err := c.fn(ctx)
				select {
				case <-ctx.Done():
				default:
					untold = !c.wait && err == nil
				}
				return err
			})
			if untold && isLost(err) {
				return nil
			}
			return err
		}},
		"releases a lost lock before its delay": {only: "lock-delay-returned", run: freesLost(func(c call, l *memoryLock) bool {
			return l.client == c.l.mine
		})},
		"frees the lock of the next holder when fn returns": {only: "not-anothers", run: freesLost(func(c call, l *memoryLock) bool {
			return l.client != c.l.mine
		})},
		"ends fn's ctx in jeopardy": {only: "jeopardy", run: within(func(ctx context.Context, c call) error {
			return c.fn(erringContext{ctx, func() error {
				if lock.StateOf(ctx) == lock.Jeopardy {
					return context.Canceled
				}
				return ctx.Err()
			}})
		})},
		"says that a lost lock is safe": {only: "taken-away", run: tells(func(c call, s lock.State) lock.State {
			if s == lock.Lost && !c.l.isCut() {
				return lock.Safe
			}
			return s
		})},
		"does not tell jeopardy": {fails: "jeopardy", run: tells(func(_ call, s lock.State) lock.State {
			if s == lock.Jeopardy {
				return lock.Safe
			}
			return s
		})},
		"stays in jeopardy": {fails: "jeopardy", run: func(c call) error {
			was := false
			return tells(func(_ call, s lock.State) lock.State {
				if was = was || s == lock.Jeopardy; was && s != lock.Lost {
					return lock.Jeopardy
				}
				return s
			})(c)
		}},
		"draws another token whenever it is asked": {fails: "token", run: holds(func(c call, h *changedHeld) {
			h.token = func(token uint64, err error) (uint64, error) {
				c.l.change(c.name, func(l *memoryLock) {
					c.l.data.count++
					token += c.l.data.count
				})
				return token, err
			}
		})},
		"gives out a token after fn has returned": {only: "token", run: firstToken(func(_ call, err error) bool {
			return errors.Is(err, rmw.ErrInvalid)
		})},
		"keeps the token of a lock that was taken away": {only: "token-lost", run: firstToken(func(c call, err error) bool {
			return isLost(err) && c.l.mine.ahead.Load() == 0
		})},
		"keeps the token of a lock after a stall": {only: "token-after-stall", run: firstToken(func(c call, err error) bool {
			return isLost(err) && c.l.mine.ahead.Load() > 0
		})},
	}
}
