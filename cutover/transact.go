package cutover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/unwatch/unwatch/cutover/internal/mover"
	"github.com/unwatch/unwatch/cutover/internal/protocol"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// Transact implements [rmw.Transactor], if both Stores do. It brings all keys to one store, and then calls the Transact of that
// Store. fn may run once more for each time that a key is found in the other store.
//
// At Follow and Reverse the keys come to the old store. At Copying all of them move to the new store if one of them is there
// or is chosen by the Stage, also those that are not chosen, that only are read, or that do not exist. At Follow, keys that
// all are in the new store stay there. A key that cannot move, such as one larger than Config.MaxSeal, keeps the others
// with it. Under Freeze none moves: keys in two stores are an [rmw.ErrUnavailable], and a key that does not exist counts as
// one of the old store, unless it has been in the new one.
func (s *Store) Transact(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
	t, err := s.beginTransact(ctx, keys, fn)
	if err != nil {
		var first rmw.Key
		if len(keys) > 0 {
			first = keys[0]
		}
		return rmw.TxResult{}, redisx.Fail("cutover", "transact", first, 0, err)
	}
	defer s.gate.Leave()
	changes, err := t.run(ctx)
	return rmw.TxResult{Changes: changes, Attempts: t.calls, Waited: t.waited}, err
}

// beginTransact admits a call, which must leave the gate.
func (s *Store) beginTransact(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (*transact, error) {
	if fn == nil {
		return nil, fmt.Errorf("%w: the function is nil", rmw.ErrInvalid)
	}
	keys, err := rmw.TxKeys(keys)
	if err != nil {
		return nil, err
	}
	if err := rmw.CheckTx(ctx, s, ""); err != nil {
		return nil, err
	}
	stage, err := s.begin(ctx, keys[0])
	if err != nil {
		return nil, err
	}
	t := &transact{Store: s, stage: stage, keys: keys, fn: fn, known: map[string]bool{}}
	for side, store := range s.stores {
		transactor, ok := rmw.As[rmw.Transactor](store)
		if !ok {
			s.gate.Leave()
			return nil, fmt.Errorf("%w: the %v Store is no rmw.Transactor; use cas or lockupdate on both sides", rmw.ErrUnsupported, protocol.Side(side))
		}
		t.sides[side] = transactor
	}
	t.side, _ = t.wants(nil)
	return t, nil
}

// transact is a Transact on its way to the home of its keys.
type transact struct {
	*Store
	stage Stage
	sides [2]rmw.Transactor
	keys  []rmw.Key // that are named
	fn    rmw.TxFunc

	side  protocol.Side
	known map[string]bool // keys that have been in the new store: if one is absent there now, it is absent

	// careful means that a key which fn gets late is looked for first: fn may get another one in each call.
	careful bool

	// Of the last call of fn.
	late    []rmw.Key
	changes []rmw.Change

	calls  int
	waited time.Duration
}

// all returns the keys that are named, and those that fn got late in its last call.
func (t *transact) all() []rmw.Key {
	all, err := rmw.TxKeys(slices.Concat(t.keys, t.late))
	if err != nil { // too many
		return t.keys
	}
	return all
}

// run calls the Store of one side, until all keys are there.
func (t *transact) run(ctx context.Context) ([]rmw.Change, error) {
	for attempt := 0; ; attempt++ {
		res, err := t.sides[t.side].Transact(ctx, t.all(), t.call)
		t.waited += res.Waited
		var of endOfFn
		switch {
		case err == nil:
			for i := range t.changes {
				t.changes[i].After = t.changes[i].After.WithTTL(0)
			}
			return t.changes, nil
		case errors.As(err, &of) && of.own:
			return nil, of.error
		case errors.As(err, &of):
			return nil, redisx.Fail("cutover", "transact", t.keys[0], t.calls, of.error)
		case !errors.Is(err, seal.ErrMoved) && !errors.Is(err, errLook):
			return nil, err
		case attempt == t.cfg.MaxAttempts:
			return nil, redisx.Fail("cutover", "transact", t.keys[0], t.calls, mover.ErrTooOften)
		}
		if attempt > 1 { // other processes move the keys at the same time
			if err := redisx.Sleep(ctx, mover.Pause.Delay(attempt, rand.Float64())); err != nil {
				return nil, redisx.Fail("cutover", "transact", t.keys[0], t.calls, err)
			}
		}
		if err := t.gather(ctx, t.all()); err != nil {
			return nil, err
		}
	}
}

// endOfFn is an error of a call of fn: its own, or that of a Put.
type endOfFn struct {
	error
	own bool
}

func (e endOfFn) Unwrap() error { return e.error }

// call calls fn within the Transact of one side, with a Tx that does not take a key of the old store for an absent one.
func (t *transact) call(ctx context.Context, inner *rmw.Tx) error {
	t.late, t.changes = nil, nil
	values := make([]rmw.Value, len(t.keys))
	for i, key := range t.keys {
		v, err := t.get(inner, key)
		if err != nil {
			return err
		}
		values[i] = v
	}
	run := rmw.NewTxRun(t.Store, t.keys, values, func(ctx context.Context, key rmw.Key) (rmw.Value, error) {
		t.late = append(t.late, key)
		if t.careful && t.unknown(key) && !t.stage.Freeze {
			if err := t.create(ctx, key); err != nil {
				return rmw.Value{}, err
			}
		}
		v, err := t.get(inner, key)
		t.careful = t.careful || err != nil
		return v, err
	})
	t.calls++
	t.gate.BeginFn()
	defer t.gate.EndFn()
	aborted, err := run.Do(ctx, t.fn, func() error { return nil }) // the side checks that the values are of one moment
	switch {
	case aborted != nil:
		return endOfFn{aborted, true}
	case errors.Is(err, errLook):
		return err
	case err != nil:
		return endOfFn{err, false}
	}
	t.changes = run.Changes()
	for _, c := range t.changes {
		if c.Written {
			inner.Put(c.Key, c.After)
		}
	}
	return nil
}

// get reads a key at the present side.
func (t *transact) get(inner *rmw.Tx, key rmw.Key) (rmw.Value, error) {
	v := inner.Get(key)
	if !v.Exists() && t.unknown(key) {
		return v, errLook
	}
	return v, nil
}

// unknown reports whether the old store may be the home of a key that is absent at the present side.
func (t *transact) unknown(key rmw.Key) bool {
	return t.side == protocol.New && t.stage.Phase != Complete && !t.known[key.Name]
}

// create moves a key that exists in neither store. The other keys are sealed meanwhile, so that any other key moves later.
func (t *transact) create(ctx context.Context, key rmw.Key) error {
	h, err := t.mover.Settle(ctx, key.Name, mover.Goal{})
	if err == nil && h.Side == protocol.Old && h.Type == "none" {
		h, err = t.mover.Settle(ctx, key.Name, mover.Goal{Moves: true, To: protocol.New, Creates: true})
	}
	t.known[key.Name] = err == nil && h.Side == protocol.New
	if err == nil && h.Side == protocol.Old {
		err = errLook
	}
	return err
}

// wants returns the side where the keys shall be, and whether some of them must move. homes may be nil.
func (t *transact) wants(homes []mover.Home) (side protocol.Side, moves bool) {
	at := [2]bool{}
	for _, h := range homes {
		at[h.Side] = true
	}
	apart := at[protocol.Old] && at[protocol.New]
	stayed, stays := t.stays.of(t.all())
	switch {
	case t.stage.Phase == Complete:
		return protocol.New, false
	case homes != nil && !apart && (stays || t.stage.Freeze || t.stage.Phase == Follow):
		return homes[0].Side, false
	case stays:
		side = stayed
	case t.stage.Phase == Copying && (at[protocol.New] || slices.ContainsFunc(t.all(), t.stage.chosen)):
		side = protocol.New
	}
	return side, at[side.Other()]
}

// gather brings the keys to one side.
func (t *transact) gather(ctx context.Context, keys []rmw.Key) error {
	if t.stage.Phase == Complete {
		_, err := t.settle(ctx, keys, mover.Goal{Complete: true})
		return err
	}
	homes, err := t.settle(ctx, keys, mover.Goal{})
	if err != nil {
		return err
	}
	side, moves := t.wants(homes)
	if moves && t.stage.Freeze {
		return t.apart(keys, homes, "and the stage is frozen: update them once it is not")
	}
	for turned := false; moves; turned = true {
		stuck, err := t.move(ctx, keys, homes, side)
		switch {
		case err != nil:
			return err
		case stuck && turned:
			return t.apart(keys, homes, "and neither can move: docs/cutover.md names the keys that do not move")
		case !stuck:
			moves = false
		default:
			side = side.Other()
		}
	}
	t.side = side
	return nil
}

// move moves the keys that are not at the side, and updates their homes. stuck means that one of them cannot move.
func (t *transact) move(ctx context.Context, keys []rmw.Key, homes []mover.Home, side protocol.Side) (stuck bool, err error) {
	var away []rmw.Key
	var of []int
	for i, h := range homes {
		if h.Side != side {
			away, of = append(away, keys[i]), append(of, i)
		}
	}
	moved, err := t.settle(ctx, away, mover.Goal{Moves: true, To: side, Creates: true})
	for n, h := range moved {
		homes[of[n]] = h
		if h.Stays {
			stuck = true
			t.stays.add(away[n].Name, h.Side)
		}
	}
	return stuck, err
}

// maxLanes bounds the keys that move at once, and so the connections of a call.
const maxLanes = 4

// settle finds the home of each key.
func (t *transact) settle(ctx context.Context, keys []rmw.Key, goal mover.Goal) ([]mover.Home, error) {
	homes, errs := make([]mover.Home, len(keys)), make([]error, len(keys))
	var lanes sync.WaitGroup
	for lane := range min(len(keys), maxLanes) {
		lanes.Go(func() {
			for i := lane; i < len(keys); i += maxLanes {
				homes[i], errs[i] = t.mover.Settle(ctx, keys[i].Name, goal)
			}
		})
	}
	lanes.Wait()
	for i, key := range keys {
		if errs[i] != nil {
			return nil, redisx.Fail("cutover", "move", key, t.calls, redisx.Blame(ctx, errs[i]))
		}
		t.known[key.Name] = homes[i].Side == protocol.New
	}
	return homes, nil
}

// apart is the error of keys in two stores.
func (t *transact) apart(keys []rmw.Key, homes []mover.Home, why string) error {
	one := [2]string{}
	for i, h := range homes {
		one[h.Side] = cmp.Or(one[h.Side], keys[i].Name)
	}
	err := fmt.Errorf("key %.128q is in the old store and key %.128q in the new one, %s", one[protocol.Old], one[protocol.New], why)
	return redisx.Fail("cutover", "transact", t.keys[0], t.calls, redisx.Because(rmw.ErrUnavailable, err))
}

// stays remembers keys that cannot move, so that the others of an update do not move there and back each time.
type stays struct {
	mu   sync.Mutex
	keys map[string]stay
}

type stay struct {
	side  protocol.Side
	until time.Time
}

const (
	// stayFor is for how long a key is remembered: it may have become smaller.
	stayFor = time.Minute
	// maxStays bounds the keys that are remembered.
	maxStays = 4096
)

func (s *stays) add(name string, side protocol.Side) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil || len(s.keys) >= maxStays {
		s.keys = map[string]stay{}
	}
	s.keys[name] = stay{side, time.Now().Add(stayFor)}
}

// of returns the side of a key that is remembered.
func (s *stays) of(keys []rmw.Key) (side protocol.Side, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		if k, ok := s.keys[key.Name]; ok && time.Now().Before(k.until) {
			return k.side, true
		}
	}
	return 0, false
}
