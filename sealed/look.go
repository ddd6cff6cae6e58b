package sealed

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// answer is the value of a key, or its type if it has no seal.
type answer struct {
	open  string // the type of the value, if the key has no seal
	value rmw.Value
	left  time.Duration // of the value; negative: no expiry
	err   error
}

// look is a key that is being looked at.
type look struct {
	key    string
	call   *seal.Call
	met    seal.Met
	before string // the nonce of the seal that was there before the decision was asked for
}

// look returns the answers of keys, as seal.Shown does for one. After a WATCH it waits until they have no seal.
func (h *hook) look(ctx context.Context, keys []string) map[string]answer {
	found := make(map[string]answer, len(keys))
	var pending []*look
	for _, key := range keys {
		if _, twice := found[key]; !twice {
			found[key] = answer{}
			pending = append(pending, &look{key: key})
		}
	}
	began := time.Now()
	for pause := 500 * time.Microsecond; ; pause = min(2*pause, 32*time.Millisecond) {
		h.send(ctx, pending, seal.Look, func(l *look) (string, []any) { return l.key, nil })
		if pending = each(pending, found, (*look).seen); len(pending) == 0 {
			return found
		}
		if h.watched.Load() {
			err := redisx.Sleep(ctx, pause)
			if err == nil && time.Since(began) > seal.Patience {
				err = errSealed
			}
			if err != nil {
				each(pending, found, func(*look) (answer, bool) { return answer{err: err}, true })
				return found
			}
			continue
		}
		h.send(ctx, pending, seal.Ask, func(l *look) (string, []any) { return l.met.Decision, []any{l.met.ID(), ""} })
		if pending = each(pending, found, (*look).decided); len(pending) == 0 {
			return found
		}
	}
}

// each returns the looks that are not done, and stores the answers of the others.
func each(pending []*look, found map[string]answer, do func(*look) (a answer, done bool)) (rest []*look) {
	for _, l := range pending {
		if a, done := do(l); done {
			found[l.key] = a
		} else {
			rest = append(rest, l)
		}
	}
	return rest
}

// seen reads the reply of a look. The value before is the answer if the same seal is there as before its decision was asked for.
func (l *look) seen() (answer, bool) {
	m, err := l.call.Met()
	switch {
	case err != nil:
		return answer{err: err}, true
	case m.State == "open":
		return answer{open: m.Type}, true
	}
	if err := m.Check(); err != nil {
		return answer{err: err}, true
	}
	l.met = m
	if m.Nonce == l.before {
		return l.after(seal.Next{Kept: true}), true
	}
	return answer{}, false
}

// decided reads the reply of a question for the decision. That the update is aborted is no answer: a process may have decided so
// after the keys were opened.
func (l *look) decided() (answer, bool) {
	d, err := l.call.Decided()
	if err != nil {
		return answer{err: err}, true
	}
	if !d.Committed {
		l.before = l.met.Nonce
		return answer{}, false
	}
	return l.after(d.Of(l.key, l.met.Nonce)), true
}

// after is the value of the key once it is opened.
func (l *look) after(n seal.Next) answer {
	v, left := l.met.After(n)
	return answer{value: v, left: left}
}

// send sends a script for each look, in one flush.
func (h *hook) send(ctx context.Context, pending []*look, s *seal.Script, of func(*look) (key string, args []any)) {
	cmds := make([]redis.Cmder, len(pending))
	for i, l := range pending {
		key, args := of(l)
		l.call = &seal.Call{Script: s, Key: key, Args: args}
		cmds[i] = redis.NewCmd(ctx, append([]any{"eval", s.Source, 1, key}, args...)...)
	}
	h.flush(ctx, cmds)
	for i, l := range pending {
		cmd := cmds[i].(*redis.Cmd)
		l.call.Reply, l.call.Err = cmd.Val(), cmd.Err()
	}
}
