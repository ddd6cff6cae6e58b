package seal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// Sender sends commands on one key each, in one flush. Any of them may be sent again. An error means that none has an answer: ctx
// or the Store has ended, or the store cannot be reached.
type Sender interface {
	Send(ctx context.Context, calls ...*Call) error
}

// LookAt returns the mark of a key, or one in the state "open".
func LookAt(ctx context.Context, s Sender, key string) (Met, error) {
	c := &Call{Script: Look, Key: key}
	if err := s.Send(ctx, c); err != nil {
		return Met{}, err
	}
	return c.Met()
}

// send sends a command, and returns its error.
func send(ctx context.Context, s Sender, c *Call) error {
	if err := s.Send(ctx, c); err != nil {
		return err
	}
	return c.Err
}

// Decided returns the decision of an update.
func Decided(ctx context.Context, s Sender, decision, id string) (Decision, error) {
	d, _, err := ask(ctx, s, decision, id, "")
	return d, err
}

// Abort decides that an update is aborted, unless it is decided. own reports whether it was not decided before.
func Abort(ctx context.Context, s Sender, decision, id string) (d Decision, own bool, err error) {
	return ask(ctx, s, decision, id, Aborted)
}

func ask(ctx context.Context, s Sender, decision, id, record string) (d Decision, own bool, err error) {
	c := &Call{Script: Ask, Key: decision, Args: []any{id, record}}
	if err := s.Send(ctx, c); err != nil {
		return Decision{}, false, err
	}
	return c.decision()
}

// Decided reads the reply of Ask.
func (c *Call) Decided() (Decision, error) {
	d, _, err := c.decision()
	return d, err
}

// decision reads the reply of Ask, and whether this call has made the decision.
func (c *Call) decision() (d Decision, own bool, err error) {
	switch {
	case redisx.IsWrongType(c.Err):
		return d, false, fmt.Errorf("%w: a key that begins with %q is not a hash of decisions: another program uses that name", rmw.ErrWrongKind, DecisionPrefix)
	case redisx.OutcomeOf(c.Err) != redisx.Done:
		return d, false, c.Err
	case c.Reply == int64(1):
		return Decision{Made: true}, true, nil
	}
	if text, ok := c.Reply.(string); ok {
		d, err = ParseRecord(text)
	}
	return d, false, err
}

// Shown returns the value that a key with a seal shows: the new one, if the update is decided, else the one before. It
// writes nothing and does not wait. open means that the key has no seal any more: read it again, unless it has another type.
//
// Unless it is decided that the update is stored, a second look must show the same seal: the decision is deleted only after
// the last seal, and a late process may then decide again that the update is aborted.
func Shown(ctx context.Context, s Sender, key rmw.Key) (v rmw.Value, open bool, err error) {
	var before string
	for {
		m, err := LookAt(ctx, s, key.Name)
		if err != nil {
			return rmw.Value{}, false, err
		}
		if m.State == "open" {
			return rmw.Value{}, true, m.Holds(key.Kind)
		}
		if err := m.Check(); err != nil {
			return rmw.Value{}, false, err
		}
		if m.Nonce == before {
			return m.shown(key, Next{Kept: true})
		}
		d, err := Decided(ctx, s, m.Decision, m.ID())
		if err != nil {
			return rmw.Value{}, false, err
		}
		if d.Committed {
			return m.shown(key, d.Of(key.Name, m.Nonce))
		}
		before = m.Nonce
	}
}

func (m Met) shown(key rmw.Key, n Next) (rmw.Value, bool, error) {
	v, _ := m.After(n)
	if v.Exists() && v.Kind() != key.Kind {
		return rmw.Value{}, false, fmt.Errorf("%w: the key holds a %v, the Key is of Kind %v", rmw.ErrWrongKind, v.Kind(), key.Kind)
	}
	return v.WithTTL(0), false, nil
}

// After returns the value that a sealed key has once it is opened, and how long it has left; negative: it has no expiry.
func (m Met) After(n Next) (v rmw.Value, left time.Duration) {
	if v, left = n.Value, n.TTL; n.Kept {
		v = m.Value
	}
	if n.Kept || n.TTL == 0 {
		left = m.Left
	}
	if left == 0 { // what keeps the expiry has expired
		v = rmw.Value{}
	}
	return v, left
}

// Resolve returns when the key no longer has the seal that was met, by the decision of its update. If there is none, it waits
// for up to Patience, and then aborts the update. It reports whether it has opened the key itself.
func Resolve(ctx context.Context, s Sender, key string, m Met) (opened bool, err error) {
	if err := m.Check(); err != nil {
		return false, err
	}
	began := time.Now()
	for pause := 500 * time.Microsecond; ; pause = min(2*pause, 32*time.Millisecond) {
		look := &Call{Script: Look, Key: key}
		get := &Call{Script: Ask, Key: m.Decision, Args: []any{m.ID(), ""}}
		if err := s.Send(ctx, look, get); err != nil {
			return false, err
		}
		now, err := look.Met()
		if err != nil || now.State != "tx" || now.Nonce != m.Nonce {
			return false, err
		}
		d, _, err := get.decision()
		if err == nil && !d.Made && time.Since(began) >= Patience {
			d, _, err = Abort(ctx, s, m.Decision, m.ID())
		}
		if err != nil {
			return false, err
		}
		if d.Made {
			done, err := open(ctx, s, d.Of(key, m.Nonce))
			if done || err != nil {
				return done, err
			}
		}
		if err := redisx.Sleep(ctx, time.Duration(float64(pause)*(0.5+rand.Float64()))); err != nil { //nolint:gosec // jitter
			return false, err
		}
	}
}

// open opens a key. It is not done while its slot moves.
func open(ctx context.Context, s Sender, n Next) (done bool, err error) {
	c := &Call{Script: Open, Key: n.Key, Args: OpenArgs(n)}
	if err := send(ctx, s, c); err != nil {
		return false, err
	}
	status, _ := c.Reply.(int64)
	return status != 3, nil
}
