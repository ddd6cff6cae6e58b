package locktest

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// strangerFlaws are Lockers of a stranger. Most of them pass all clauses; the programs find each.
func strangerFlaws() map[string]flaw {
	return map[string]flaw{
		"L01 does not renew the lock of a TryLock": {run: func(c call) error {
			return c.next(c.ctx, func(ctx context.Context) error {
				if !c.wait {
					defer expires(ctx, c.l, c.name)()
				}
				return c.fn(ctx)
			})
		}},
		"L02 does not renew the lock of a Lock": {lock: func(ctx context.Context, l *flawed, name string) (lock.Hold, error) {
			h, err := l.Memory.Lock(ctx, name)
			if err != nil {
				return nil, err
			}
			stop := expires(h.Context(), l, name)
			return changedHold{h, h.Context(), func() error { stop(); return h.Unlock() }}, nil
		}},
		"L03 hides a loss from TryLock": {run: func(c call) error {
			if err := c.next(c.ctx, c.fn); c.wait || !isLost(err) {
				return err
			}
			return nil
		}},
		"L04 has tokens of 32 bits": {target: fewer, granted: func(_ *flawedService, _ *memoryLock, g *driver.Grant) {
			g.Token &= 1<<32 - 1
		}},
		"L05 begins tokens again after two idle minutes": {
			target: fewer,
			asked: func(s *flawedService, l *memoryLock, r *driver.Request) {
				if l.owner == "" && time.Since(s.data.since[r.Name]) > 2*time.Minute {
					s.data.tokens[r.Name] = 0
				}
			},
			granted: func(s *flawedService, l *memoryLock, g *driver.Grant) {
				for name, of := range s.locks {
					if of == l {
						s.data.tokens[name]++
						g.Token = s.data.tokens[name]
					}
				}
			},
			release: func(ctx context.Context, s *flawedService, name, owner string) error {
				s.locked(func() { s.data.since[name] = time.Now() })
				return s.memoryClient.Release(ctx, name, owner)
			},
		},
		"L06 locks the CRC-32 of a name": renames(func(name string) string {
			return fmt.Sprint(crc32.ChecksumIEEE([]byte(name)))
		}),
		"L06 locks 16 bits of the FNV-1a of a name": renames(func(name string) string {
			h := fnv.New32a()
			_, _ = h.Write([]byte(name))
			return fmt.Sprint(h.Sum32()>>16 ^ h.Sum32()&0xffff)
		}),
		"L07 cuts names at 512 bytes": renames(func(name string) string { return name[:min(len(name), 512)] }),
		"L08 runs the others of more than 16 waiters": {run: func(c call) error {
			full := false
			count := func(d int) func(*memoryLock) {
				return func(*memoryLock) { c.l.data.queued[c.name] += d; full = c.l.data.queued[c.name] > 16 }
			}
			c.l.change(c.name, count(1))
			defer c.l.change(c.name, count(-1))
			if full && c.wait {
				return c.fn(c.ctx)
			}
			return c.next(c.ctx, c.fn)
		}},
		"L10 shows a lock as it was 100 ms ago": {inspect: func(l *flawed, info *lock.Info) {
			l.change(info.Name, func(*memoryLock) {
				if seen := "inspect " + info.Name; time.Since(l.data.since[seen]) < 100*time.Millisecond {
					*info = l.data.last[info.Name]
				} else {
					l.data.since[seen], l.data.last[info.Name] = time.Now(), *info
				}
			})
		}},
		"L11 remembers a Check for 100 ms": {check: func(l *flawed, info lock.Info, s lock.Sequencer) (good bool) {
			l.change(s.Name, func(*memoryLock) {
				seen := "check " + s.Owner
				if good = time.Since(l.data.since[seen]) < 100*time.Millisecond; !good && info.Owner == s.Owner {
					l.data.since[seen] = time.Now()
				}
			})
			return good
		}},
		"L12 cuts data at 256 bytes": {asked: func(_ *flawedService, _ *memoryLock, r *driver.Request) {
			r.Data = r.Data[:min(len(r.Data), 256)]
		}},
		"L13 drops the data of a Lock": {lock: func(ctx context.Context, l *flawed, name string) (lock.Hold, error) {
			return l.Memory.Lock(lock.WithData(ctx, nil), name)
		}},
		"L14 hides the values of the ctx in a Hold": {lock: holdContext(func(h lock.Hold) context.Context {
			return forgetful{h.Context()}
		})},
		"L15 does not end a Hold's Context with the caller's": {lock: func(ctx context.Context, l *flawed, name string) (lock.Hold, error) {
			apart, cancel := context.WithCancel(context.WithoutCancel(ctx))
			stop := context.AfterFunc(ctx, cancel)
			defer stop()
			h, err := l.Memory.Lock(apart, name)
			if err != nil && ctx.Err() != nil {
				return nil, errors.Join(rmw.ErrContended, ctx.Err())
			}
			return h, err
		}},
		"L16 leaves the Err of a Hold's Context to a timer": {lock: holdContext(func(h lock.Hold) context.Context {
			return erringContext{h.Context(), func() error {
				if isDone(h.Context()) {
					return h.Context().Err()
				}
				return nil
			}}
		})},
		"L17 returns nil from Unlock before the timer": {lock: func(ctx context.Context, l *flawed, name string) (lock.Hold, error) {
			h, err := l.Memory.Lock(ctx, name)
			if err != nil {
				return nil, err
			}
			return changedHold{h, h.Context(), func() error {
				told := isDone(h.Context())
				if err := h.Unlock(); told || !isLost(err) {
					return err
				}
				return nil
			}}, nil
		}},
		"L19 makes a text of a panic": {run: within(func(ctx context.Context, c call) error {
			defer func() {
				if p := recover(); p != nil {
					panic(fmt.Sprint(p))
				}
			}()
			return c.fn(ctx)
		})},
		"L20 runs unlocked after a wait of 30 s": {run: func(c call) error {
			ctx, cancel := context.WithCancel(c.ctx)
			defer cancel()
			timer := time.AfterFunc(30*time.Second, cancel)
			entered := false
			err := c.next(ctx, func(ctx context.Context) error {
				entered = true
				timer.Stop()
				return c.fn(ctx)
			})
			if !entered && c.wait && ctx.Err() != nil && c.ctx.Err() == nil {
				return c.fn(c.ctx)
			}
			return err
		}},
		"L21 refuses the 41st lock": {run: func(c call) error {
			defer c.l.inside.Add(-1)
			if c.l.inside.Add(1) > 40 {
				return rmw.ErrContended
			}
			return c.next(c.ctx, c.fn)
		}},
		"L22 gives fn an hour": {run: within(func(ctx context.Context, c call) error {
			ctx, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			return c.fn(ctx)
		})},
		"L24 calls fn again after its ErrUnavailable": {run: instead(rmw.ErrUnavailable, func(c call, _ error) error {
			return c.next(c.ctx, c.fn)
		})},
	}
}

func fewer(t *Target, _ *flawedData) { t.Checks, t.Inspects, t.Data = false, false, false }

// renames takes locks of other names, and does not show it.
func renames(key func(name string) string) flaw {
	as := func(ctx context.Context, name string) context.Context {
		return context.WithValue(ctx, lock.ContextKey{}, renamed{ctx.Value(lock.ContextKey{}).(lock.Held), name})
	}
	return flaw{
		target: func(t *Target, m *flawedData) {
			fewer(t, m)
			t.Faults.TakeAway = func(ctx context.Context, name string) error { return m.TakeAway(ctx, key(name)) }
		},
		run: func(c call) error {
			name := c.name
			c.name = key(name)
			return c.next(c.ctx, func(ctx context.Context) error { return c.fn(as(ctx, name)) })
		},
		lock: func(ctx context.Context, l *flawed, name string) (lock.Hold, error) {
			return holdContext(func(h lock.Hold) context.Context {
				return erringContext{as(h.Context(), name), h.Context().Err}
			})(ctx, l, key(name))
		},
	}
}

// renamed is a lock.Held that shows another name.
type renamed struct {
	lock.Held

	name string
}

func (h renamed) Sequencer(ctx context.Context) (lock.Sequencer, error) {
	s, err := h.Held.Sequencer(ctx)
	s.Name = h.name
	return s, err
}

// expires takes the lock of ctx away at the end of its first lease, unless it is stopped.
func expires(ctx context.Context, l *flawed, name string) (stop func()) {
	seq, _ := lock.SequencerOf(ctx)
	timer := time.AfterFunc(l.cfg.Lease, func() {
		l.change(name, func(of *memoryLock) {
			if of.owner == seq.Owner {
				of.free(seq.Owner)
			}
		})
	})
	return func() { timer.Stop() }
}

// holdContext changes the Context of a Hold.
func holdContext(change func(h lock.Hold) context.Context) func(context.Context, *flawed, string) (lock.Hold, error) {
	return func(ctx context.Context, l *flawed, name string) (lock.Hold, error) {
		h, err := l.Memory.Lock(ctx, name)
		if err != nil {
			return nil, err
		}
		return changedHold{h, change(h), h.Unlock}, nil
	}
}

// forgetful is a ctx without the values of its user.
type forgetful struct{ context.Context }

func (c forgetful) Value(key any) any {
	if key == (ctxKey{}) {
		return nil
	}
	return c.Context.Value(key)
}

func isDone(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}
