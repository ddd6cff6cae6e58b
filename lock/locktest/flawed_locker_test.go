package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

func (l flawed) WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return l.run(ctx, l.Memory.WithLock, name, fn)
}

func (l flawed) TryLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return l.run(ctx, l.Memory.TryLock, name, fn)
}

func (l flawed) run(ctx context.Context, take func(context.Context, string, work) error, name string, fn work) error {
	if fn == nil {
		return take(ctx, name, nil)
	}
	switch l.flaw {
	case detaches:
		ctx = context.WithoutCancel(ctx)
	case derives:
		derived, cancel := context.WithCancel(ctx)
		defer cancel()
		ctx = derived
	}
	err := take(ctx, name, func(ctx context.Context) error {
		if held, ok := ctx.Value(lock.ContextKey{}).(lock.Held); ok {
			ctx = flawedContext{ctx, &flawedHeld{Held: held, flaw: l.flaw}}
		}
		err := fn(ctx)
		if l.flaw == keepsRefused && errors.Is(err, rmw.ErrContended) {
			l.store.mu.Lock()
			defer l.store.mu.Unlock()
			l.store.lock(name).owner = "nobody"
		}
		return err
	})
	if l.flaw == freesLost && errors.Is(err, rmw.ErrLockLost) {
		l.store.mu.Lock()
		defer l.store.mu.Unlock()
		if m := l.store.lock(name); m.client == l.mine {
			m.free(m.owner)
		}
	}
	return err
}

// flawedContext is fn's ctx with a flaw.
type flawedContext struct {
	context.Context

	held *flawedHeld
}

func (c flawedContext) Value(key any) any {
	if key == (lock.ContextKey{}) {
		return c.held
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

	flaw flaw
	was  bool // in jeopardy
}

func (h *flawedHeld) State() lock.State {
	state := h.Held.State()
	switch {
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
			}
		}
		o(ctx, e)
		if kind, ok := twice[f]; ok && kind == e.Kind {
			o(ctx, e)
		}
	}
}
