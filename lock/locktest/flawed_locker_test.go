package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

func (l flawed) WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return l.run(ctx, l.Memory.WithLock, name, fn)
}

func (l flawed) TryLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	err := l.run(ctx, l.Memory.TryLock, name, fn)
	if end, limited := ctx.Deadline(); l.flaw == tryWaitsLimited && limited && time.Until(end) <= soon && errors.Is(err, rmw.ErrContended) {
		<-ctx.Done()
	}
	return err
}

func (l flawed) run(ctx context.Context, take func(context.Context, string, work) error, name string, fn work) (err error) {
	if fn == nil {
		return take(ctx, name, nil)
	}
	if _, inner := ctx.Value(lock.ContextKey{}).(lock.Held); !inner {
		fn = l.outermost(ctx, name, fn)
		if l.flaw == swallowsOwn {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("panic: %v", p)
				}
			}()
		}
		if l.flaw == revivesCtx && ctx.Err() != nil {
			ctx = context.WithoutCancel(ctx)
		}
	}
	caller := ctx
	switch l.flaw {
	case detaches:
		ctx = context.WithoutCancel(ctx)
	case derives:
		derived, cancel := context.WithCancel(ctx)
		defer cancel()
		ctx = derived
	}
	err = take(ctx, name, func(ctx context.Context) error {
		if held, ok := ctx.Value(lock.ContextKey{}).(lock.Held); ok {
			token, _ := held.Token(ctx)
			ctx = flawedContext{ctx, &flawedHeld{Held: held, flaw: l.flaw, client: l.mine, token: token}}
		}
		err := fn(ctx)
		if l.flaw == keepsRefused && errors.Is(err, rmw.ErrContended) {
			l.change(name, func(m *memoryLock) { m.owner = "nobody" })
		}
		return err
	})
	switch {
	case l.flaw == freesLost && errors.Is(err, rmw.ErrLockLost):
		l.change(name, func(m *memoryLock) {
			if m.client == l.mine {
				m.free(m.owner)
			}
		})
	case l.flaw == freesNext && errors.Is(err, rmw.ErrLockLost):
		l.change(name, func(m *memoryLock) {
			if m.client != l.mine {
				m.free(m.owner)
			}
		})
	case l.flaw == plainCanceled && errors.Is(err, rmw.ErrContended) && errors.Is(caller.Err(), context.Canceled):
		return caller.Err()
	}
	return err
}

// outermost gives fn flaws that show only without an outer lock.
func (l flawed) outermost(caller context.Context, name string, fn work) work {
	switch l.flaw {
	case wrapsOwn:
		return func(ctx context.Context) error {
			if err := fn(ctx); err != nil {
				return fmt.Errorf("lock: %w", err)
			}
			return nil
		}
	case keepsOnGoexit:
		return func(ctx context.Context) error {
			ended := true
			defer func() {
				if p := recover(); p != nil {
					panic(p)
				}
				if ended {
					l.change(name, func(m *memoryLock) { m.owner = "nobody" })
				}
			}()
			err := fn(ctx)
			ended = false
			return err
		}
	case freesWithCtx:
		return func(ctx context.Context) error {
			defer context.AfterFunc(caller, func() { _ = l.TakeAway(ctx, name) })()
			return fn(ctx)
		}
	}
	return fn
}

func (l flawed) change(name string, change func(m *memoryLock)) {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	change(l.store.lock(name))
}

// flawedContext is fn's ctx with a flaw.
type flawedContext struct {
	context.Context

	held *flawedHeld
}

func (c flawedContext) Value(key any) any {
	switch {
	case key == (lock.ContextKey{}):
		return c.held
	case c.held.flaw == hidesValues && key == (ctxKey{}):
		return nil
	}
	return c.Context.Value(key)
}

func (c flawedContext) Err() error {
	if c.held.flaw == cancelsInJeopardy && c.held.Held.State() == lock.Jeopardy {
		return context.Canceled
	}
	return c.Context.Err()
}

// flawedHeld is a lock.Held with a flaw.
type flawedHeld struct {
	lock.Held

	flaw   flaw
	client *memoryClient
	token  uint64
	was    bool // in jeopardy
}

func (h *flawedHeld) Token(ctx context.Context) (uint64, error) {
	token, err := h.Held.Token(ctx)
	stalled := h.client.ahead.Load() > 0
	if errors.Is(err, rmw.ErrLockLost) && (h.flaw == lostToken && !stalled || h.flaw == stalledToken && stalled) {
		return h.token, nil
	}
	return token, err
}

func (h *flawedHeld) State() lock.State {
	state := h.Held.State()
	h.client.mu.Lock()
	cut := h.client.cut
	h.client.mu.Unlock()
	switch {
	case h.flaw == lostIsSafe && state == lock.Lost && !cut:
		return lock.Safe
	case h.flaw == alwaysSafe, h.flaw == neverJeopardy && state == lock.Jeopardy:
		return lock.Safe
	case h.flaw == staysInJeopardy && state != lock.Lost:
		if h.was = h.was || state == lock.Jeopardy; h.was {
			return lock.Jeopardy
		}
	}
	return state
}

func (l flawed) Lock(ctx context.Context, name string) (lock.Hold, error) {
	if name == "" && l.flaw == namelessLock {
		name = "lock"
	}
	h, err := l.Memory.Lock(ctx, name)
	if err != nil {
		if l.flaw == plainLock && ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	return &flawedHold{Hold: h, l: l, name: name, parent: ctx}, nil
}

// flawedHold is a lock.Hold with a flaw.
type flawedHold struct {
	lock.Hold

	l      flawed
	name   string
	parent context.Context
}

func (h *flawedHold) Context() context.Context {
	if h.l.flaw == outlivesUnlock {
		return h.parent
	}
	return h.Hold.Context()
}

func (h *flawedHold) Unlock() error {
	err := h.Hold.Unlock()
	switch h.l.flaw {
	case unlocksTwice:
		_ = h.l.TakeAway(context.Background(), h.name)
	case hidesUnlock:
		return nil
	}
	return err
}

func (l flawed) Close() error {
	err := l.Memory.Close()
	if l.flaw == closesClient {
		l.Cut()
	}
	return err
}

func (l flawed) Inspect(ctx context.Context, name string) (lock.Info, error) {
	info, err := l.Memory.Inspect(ctx, name)
	if l.flaw == showsOwner && info.Held {
		info.Owner += "/host 7"
	}
	return info, err
}

func (l flawed) Check(ctx context.Context, s lock.Sequencer) error {
	info, err := l.Inspect(ctx, s.Name)
	switch {
	case err == nil && l.flaw == checksName && info.Held:
		return nil
	case err == nil && l.flaw == checksLast && (!info.Held || info.Sequencer == s):
		return nil
	}
	return l.Memory.Check(ctx, s)
}

// observer is an Observer between the Locker and o, with a flaw.
func (f flaw) observer(o lock.Observer) lock.Observer {
	return func(ctx context.Context, e lock.Event) {
		untold := map[flaw]lock.EventKind{
			releaseUntold: lock.EventReleased, refusalUntold: lock.EventRefused, safeUntold: lock.EventSafe, wantedUntold: lock.EventWanted,
			waitUntold: lock.EventWaiting, waitEndUntold: lock.EventWaitEnded,
		}
		twice := map[flaw]lock.EventKind{
			lossTwice: lock.EventLost, jeopardyTwice: lock.EventJeopardy, wantedTwice: lock.EventWanted, waitTwice: lock.EventWaiting,
		}
		if kind, ok := untold[f]; ok && kind == e.Kind {
			return
		}
		if f == noHoldTime && e.Kind == lock.EventReleased {
			e.Took = time.Duration(0)
		}
		if e.Kind == lock.EventLost {
			switch f {
			case lossNameless:
				e.Loss = ""
			case allExpired:
				e.Loss = lock.LossExpired
			case sessionTaken:
				if e.Loss == lock.LossSession {
					e.Loss = lock.LossTaken
				}
			case maxHoldExpired:
				if e.Loss == lock.LossMaxHold {
					e.Loss = lock.LossExpired
				}
			}
		}
		o(ctx, e)
		if kind, ok := twice[f]; ok && kind == e.Kind {
			o(ctx, e)
		}
	}
}
