package locktest

import (
	"cmp"
	"context"
	"regexp"
	"strings"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// isCut reports whether l is cut off.
func (l *flawed) isCut() (cut bool) {
	l.store.locked(func() { cut = l.mine.cut })
	return cut
}

// changedHold is a lock.Hold with another Context and Unlock.
type changedHold struct {
	lock.Hold

	ctx    context.Context
	unlock func() error
}

func (h changedHold) Context() context.Context { return h.ctx }
func (h changedHold) Unlock() error            { return h.unlock() }

// unlocks changes the Unlock of a Hold.
func unlocks(unlock func(l *flawed, name string, err error) error) func(context.Context, *flawed, string) (lock.Hold, error) {
	return func(ctx context.Context, l *flawed, name string) (lock.Hold, error) {
		h, err := l.Memory.Lock(ctx, name)
		if err != nil {
			return nil, err
		}
		return changedHold{h, h.Context(), func() error { return unlock(l, name, h.Unlock()) }}, nil
	}
}

// lockerFlaws are those of names, of Lock and of the other methods of a Locker.
func lockerFlaws() map[string]flaw {
	return map[string]flaw{
		"has one lock for all names":            {fails: "odd-names two-locks", key: func(string) string { return "lock" }},
		"trims names":                           {only: "odd-names", key: strings.TrimSpace},
		"ignores case, as a collation does":     {fails: "odd-names", key: strings.ToLower},
		"cuts long names":                       {fails: "odd-names", key: func(name string) string { return name[:min(len(name), 200)] }},
		"locks the empty name":                  {fails: "invalid", key: func(name string) string { return cmp.Or(name, "lock") }},
		"takes the hash tag for the whole name": {fails: "odd-names", key: hashTag},

		"frees the lock with a second Unlock": {fails: "unlock unlock-lost", lock: unlocks(func(l *flawed, name string, err error) error {
			_ = l.TakeAway(context.Background(), name)
			return err
		})},
		"returns nil from Unlock of a lost lock": {only: "unlock-lost", lock: unlocks(func(*flawed, string, error) error {
			return nil
		})},
		"leaves the Context of a Hold after Unlock": {
			fails: "unlock",
			lock: func(ctx context.Context, l *flawed, name string) (lock.Hold, error) {
				h, err := l.Memory.Lock(ctx, name)
				if err != nil {
					return nil, err
				}
				return changedHold{h, ctx, h.Unlock}, nil
			},
		},
		"has a Lock without a name": {only: "lock-refused", lock: func(ctx context.Context, l *flawed, name string) (lock.Hold, error) {
			return l.Memory.Lock(ctx, cmp.Or(name, "lock"))
		}},
		"returns the error of ctx from Lock": {
			fails: "lock-refused",
			lock: func(ctx context.Context, l *flawed, name string) (lock.Hold, error) {
				h, err := l.Memory.Lock(ctx, name)
				if err != nil && ctx.Err() != nil {
					return nil, ctx.Err()
				}
				return h, err
			},
		},

		"works on when it is closed": {only: "closed", close: func(*flawed) error { return nil }},
		"waits on when it is closed": {
			fails: "closed",
			close: func(l *flawed) error { l.closed.Store(true); return nil },
			run: func(c call) error {
				if c.l.closed.Load() {
					return rmw.ErrClosed
				}
				return c.next(c.ctx, c.fn)
			},
		},
		"gives back others' locks when it is closed": {fails: "closed", close: func(l *flawed) error {
			l.Forget()
			return l.Memory.Close()
		}},
		"closes the client that it shares": {only: "shared-client", close: func(l *flawed) error {
			err := l.Memory.Close()
			l.Cut()
			return err
		}},
		"checks the name of a sequencer only": {
			only:  "sequencer",
			check: func(_ *flawed, info lock.Info, _ lock.Sequencer) bool { return info.Held },
		},
		"checks that no later holder has been there": {
			fails: "sequencer",
			check: func(_ *flawed, info lock.Info, s lock.Sequencer) bool { return !info.Held || info.Sequencer == s },
		},
		"shows another owner than the holder's sequencer": {only: "inspect", inspect: func(_ *flawed, info *lock.Info) {
			if info.Held {
				info.Owner += "/host 7"
			}
		}},
		"shows the last holder of a free lock": {fails: "inspect data", inspect: func(l *flawed, info *lock.Info) {
			l.change(info.Name, func(*memoryLock) {
				if last, ok := l.data.last[info.Name]; ok && !info.Held {
					*info = last
				}
				l.data.last[info.Name] = *info
			})
		}},
	}
}

func hashTag(name string) string {
	if tag := regexp.MustCompile(`\{(.+?)\}`).FindStringSubmatch(name); tag != nil {
		return tag[1]
	}
	return name
}

// told tells events of one kind another number of times.
func told(kind lock.EventKind, times int) func(*lock.Event) int {
	return func(e *lock.Event) int {
		if e.Kind == kind {
			return times
		}
		return 1
	}
}

// reason changes the reason of losses; "" stands for any.
func reason(from, to lock.Loss) func(*lock.Event) int {
	return func(e *lock.Event) int {
		if e.Kind == lock.EventLost && (from == "" || e.Loss == from) {
			e.Loss = to
		}
		return 1
	}
}

// eventFlaws are those of an Observer.
func eventFlaws() map[string]flaw {
	return map[string]flaw{
		"tells a loss twice":                         {fails: "told told-jeopardy", event: told(lock.EventLost, 2)},
		"does not tell a release":                    {fails: "told", event: told(lock.EventReleased, 0)},
		"does not tell a refusal":                    {fails: "told", event: told(lock.EventRefused, 0)},
		"does not tell the end of jeopardy":          {only: "told-jeopardy", event: told(lock.EventSafe, 0)},
		"tells jeopardy with each failed renewal":    {fails: "told-jeopardy", event: told(lock.EventJeopardy, 2)},
		"does not tell that others wait":             {only: "wanted", event: told(lock.EventWanted, 0)},
		"tells with each renewal that others wait":   {fails: "wanted", event: told(lock.EventWanted, 2)},
		"does not tell that a call waits":            {fails: "told-waiting", event: told(lock.EventWaiting, 0)},
		"tells twice that a call waits":              {only: "told-waiting", event: told(lock.EventWaiting, 2)},
		"does not tell the end of a wait":            {fails: "told-waiting", event: told(lock.EventWaitEnded, 0)},
		"does not tell why a lock was lost":          {fails: "told told-jeopardy told-session told-max-hold", event: reason("", "")},
		"tells each loss as the end of the lease":    {fails: "told told-session told-max-hold", event: reason("", lock.LossExpired)},
		"tells the end of a session as another loss": {only: "told-session", event: reason(lock.LossSession, lock.LossTaken)},
		"tells MaxHold as the end of the lease":      {only: "told-max-hold", event: reason(lock.LossMaxHold, lock.LossExpired)},
		"does not tell how long a lock was held": {only: "told", event: func(e *lock.Event) int {
			if e.Kind == lock.EventReleased {
				e.Took = 0
			}
			return 1
		}},
	}
}
