package operate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/internal/marker"
	"github.com/unwatch/unwatch/cutover/internal/mover"
	"github.com/unwatch/unwatch/cutover/internal/protocol"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// Pause is a distribution of the times that keys were without a home: from sending the seals of a
// batch to the last reply of its fills. A key that a process moves by itself is a batch of one.
type Pause struct {
	Batches       int
	P50, P99, Max time.Duration
}

// Pass is the result of one [Sweep]. Each chosen key is in one of the counts from Moved to
// Failed.
type Pass struct {
	Scanned
	// Moved counts the keys that this pass, or a process beside it, moved to the side that the Stage
	// wants.
	Moved int
	// There counts the keys that were at the side that the Stage wants.
	There int
	// Kept counts the keys that the Stage does not move.
	Kept int
	// Completed counts the keys with a half-done move, which this pass completed, and then moved to the
	// side that the Stage wants.
	Completed int
	// Gone counts the keys that were deleted or expired after SCAN returned them.
	Gone int
	// TooLarge counts the keys that stay because their value is larger than cutover.Config.MaxSeal.
	TooLarge Keys
	// OtherType counts the keys that stay because they hold neither a string nor a hash.
	OtherType Keys
	// FieldExpiry counts the hashes that stay because their fields have an expiry (HEXPIRE).
	FieldExpiry Keys
	// Refused counts the keys that stay because the new store has a value of its own.
	Refused Keys
	// Failed counts the keys for which a store did not answer. The next pass completes them.
	Failed Keys
	// Freed counts the names with a marker in the new store that had no other use: the key has expired
	// or was deleted in the old one. The pass moved the absent key. They are not among Chosen.
	Freed int
	// Cause is the error of the last Failed key.
	Cause error `json:"-"`
	// Pause has the batches. Keys that moved one by one, after something unexpected, are not in it.
	Pause Pause
}

// Stay is the number of keys that the pass could not move: TooLarge, OtherType, FieldExpiry and Refused.
func (p Pass) Stay() int {
	return p.TooLarge.Count + p.OtherType.Count + p.FieldExpiry.Count + p.Refused.Count
}

// Sweep visits each key of the old store once and moves it as the present Stage says: to the new
// store while Copying, to the old one in Reverse. In every Phase, also under Freeze, it completes
// the moves that it finds half done; at Complete, they end in the new store. It moves the keys of a batch together,
// in four pipelines, or five on the way back, so that a key waits for its batch only between its seal and its fill.
//
// The state of a move is in the keys, so a Sweep may end anywhere, and the next one goes on. Any
// number of them may run beside each other and beside updates. A key that is created behind the
// SCAN is in the next pass. The old store needs no more moves of its keys once a pass with a Stage
// that chooses all of them has Moved, Completed and Failed none.
//
// Then Sweep visits each chosen name of SweepConfig.NewMasters. While the Stage moves the name to the new store
// and at Complete, a marker there without its key in the old store would block the name for every
// process without this package. Sweep moves the absent key, which removes the marker.
//
// In every Phase it ends the updates of several keys (rmw.Transact) of dead processes that have sealed a visited key. It
// waits up to a second for such an update.
//
// Sweep returns when every key was visited, when ctx ends, when the Store is closed, or when a SCAN or
// all keys of a batch failed. It waits for a store that is away for up to SweepConfig.MaxOutage before. The Pass
// is valid beside an error, except for the
// batch that ctx interrupted: that one completes in the background, and Close waits for it.
func Sweep(ctx context.Context, store *cutover.Store, cfg SweepConfig) (Pass, error) {
	s := of(store)
	first, err := s.Stage(ctx)
	if err != nil {
		return Pass{}, redisx.Fail("cutover", "sweep", rmw.Key{}, 0, err)
	}
	pass := Pass{Scanned: s.scanned(first, cfg)}
	pauses, began, away := mover.NewPauses(), time.Now().UTC(), newOutage(cfg, &pass.Scanned)
	defer s.Sweeps(nil)
	for _, side := range []protocol.Side{protocol.Old, protocol.New} {
		if side == protocol.New && len(cfg.NewMasters) == 0 || err != nil {
			continue
		}
		err = s.scan(ctx, "sweep", side, cfg, away, &pass.Scanned, func(ctx context.Context, keys []rmw.Key, batch int) error {
			stage, err := s.Stage(ctx)
			if err != nil {
				return err
			}
			if stage.Epoch != first.Epoch {
				pass.Epoch = 0
			}
			s.Sweeps(progress(began, pass))
			if side == protocol.New {
				return s.free(ctx, stage, keys, batch, away, &pass)
			}
			return s.sweepBatches(ctx, stage, keys, batch, away, &pass, pauses)
		})
	}
	pass.Pause = Pause(pauses.Summary())
	return pass, err
}

// progress returns the figures of a pass that still runs. Names may be long.
func progress(began time.Time, pass Pass) *Progress {
	for _, keys := range []*Keys{&pass.TooLarge, &pass.OtherType, &pass.FieldExpiry, &pass.Refused, &pass.Failed} {
		keys.Names = nil
	}
	return &Progress{Began: began, Pass: pass}
}

// scanned begins the record of a pass at the stage.
func (s operator) scanned(stage mover.Stage, cfg SweepConfig) Scanned {
	return Scanned{Cutover: stage.Cutover, Epoch: stage.Epoch, most: cfg.Names}
}

// item is a key of a batch.
type item struct {
	key   string
	goal  mover.Goal
	found found
	// half says that the key was found on its way.
	half   bool
	sealed bool          // by an update of several keys
	home   protocol.Side // of a sealed key
	// into is the marker at the other side that the value is for.
	into protocol.Nonce
	// seal is the marker that the value was sealed with.
	seal  protocol.Nonce
	value marker.Value
	// err is that of the last command for an unexpected key.
	err error
}

// found is the result of the pipelines for one key.
type found uint8

const (
	unexpected found = iota // the key needs looks of its own
	there
	gone
	moved
	unmarked // it has moved, and the mark failed
	tooLarge
	otherType
	fieldExpiry
)

func (s operator) sweepBatches(ctx context.Context, stage mover.Stage, keys []rmw.Key, batch int, away *outage,
	pass *Pass, pauses *mover.Pauses,
) error {
	items := mapped(keys, func(key rmw.Key) *item {
		return &item{key: key.Name, goal: stage.Goal(key)}
	})
	took, err := s.inPipelines(ctx, items, batch, away, s.mover.advance)
	if err != nil {
		return err
	}
	for _, d := range took {
		pauses.Add(d)
		s.mover.Pauses.Add(d)
	}
	return s.finishAll(ctx, items, away, pass)
}

// inPipelines calls work with batches of the items, and returns its pauses. It calls work again with the items
// for which a store was away.
func (s operator) inPipelines(ctx context.Context, items []*item, batch int, away *outage,
	work func(context.Context, []*item) []time.Duration,
) (took []time.Duration, err error) {
	for {
		pauses, err := mover.Await(ctx, s.Gate, func(ctx context.Context) (took []time.Duration) {
			var mu sync.Mutex
			inLanes(len(items), batch, func(from, to int) {
				pauses := work(ctx, items[from:to])
				mu.Lock()
				defer mu.Unlock()
				took = append(took, pauses...)
			})
			return took
		})
		if err != nil {
			return nil, err
		}
		took = append(took, pauses...)
		var left []*item
		for _, it := range items {
			if it.found == unexpected && redisx.IsAway(it.err) {
				left = append(left, it)
			}
		}
		if len(left) == 0 {
			return took, nil
		}
		if !away.another(ctx, left[0].err) {
			return took, ctx.Err()
		}
		items = left
	}
}

// finishAll counts the keys. It returns an error if all of them failed.
func (s operator) finishAll(ctx context.Context, items []*item, away *outage, pass *Pass) error {
	failed, damaged := 0, 0
	for _, it := range items {
		err := s.finish(ctx, it, pass)
		for away.another(ctx, err) {
			err = s.finish(ctx, it, pass)
		}
		if err != nil && ctx.Err() == nil {
			failed++
			if ofMark(err) {
				damaged++ // the store has answered
			}
			pass.add(&pass.Failed, it.key)
			pass.Cause = redisx.Fail("cutover", "sweep", rmw.Key{Name: it.key}, 0, redisx.Blame(ctx, err))
		}
	}
	if failed == 0 {
		away.ended()
	} else if failed == len(items) && damaged == 0 {
		return fmt.Errorf("all %d keys of a batch failed, the last one: %w", failed, pass.Cause)
	}
	return ctx.Err()
}

// ofMark reports whether err is that of a mark on a key, which is damaged or of a newer build.
func ofMark(err error) bool {
	return errors.Is(err, rmw.ErrWrongKind) || errors.Is(err, rmw.ErrUnsupported)
}

// finish counts the key, which moves by itself if something was unexpected.
func (s operator) finish(ctx context.Context, it *item, pass *Pass) error {
	switch it.found {
	case gone:
		pass.Gone++
		return nil
	case moved:
		pass.Moved++
		return nil
	case there:
		if it.goal.Moves {
			pass.There++
		} else {
			pass.Kept++
		}
		return nil
	case tooLarge:
		pass.add(&pass.TooLarge, it.key)
		return nil
	case otherType:
		pass.add(&pass.OtherType, it.key)
		return nil
	case fieldExpiry:
		pass.add(&pass.FieldExpiry, it.key)
		return nil
	}
	aim := it.goal
	if aim.Complete { // no process looks at the old store, so a half-done move may not end there
		aim = mover.Goal{Moves: it.half, To: protocol.New}
	}
	aim.Opens = true
	h, err := s.mover.Settle(ctx, it.key, aim)
	switch {
	case it.found == unmarked: // the next look at the key marks it
		pass.Moved++
	case err != nil:
		return err
	case h.TooLarge:
		pass.add(&pass.TooLarge, it.key)
	case h.FieldExpiry:
		pass.add(&pass.FieldExpiry, it.key)
	case h.Stays && h.Type != "string" && h.Type != "hash":
		pass.add(&pass.OtherType, it.key)
	case h.Stays:
		pass.add(&pass.Refused, it.key)
	case it.half:
		pass.Completed++
	case it.goal.Moves && h.Side == it.goal.To && it.sealed && it.home == h.Side:
		pass.There++
	case it.goal.Moves && h.Side == it.goal.To:
		pass.Moved++
	case it.goal.Moves: // it is absent in both stores
		pass.Gone++
	default:
		pass.Kept++
	}
	return nil
}

// advance moves the keys of a batch in pipelines, and returns its pauses. A key with an unexpected
// reply is left where it is.
//
// It first asks for the TYPE, which is a hint only: a string or a hash is open, and a list is a marker.
func (m batches) advance(ctx context.Context, items []*item) (pauses []time.Duration) {
	var open, marked, away []*item
	kinds, errs := m.types(ctx, protocol.Old, keysOf(items))
	for i, kind := range kinds {
		items[i].err = errs[i]
		switch it := items[i]; {
		case kind == "list":
			marked = append(marked, it)
		case kind == "none":
			it.found = gone
		case kind == "":
		case kind != "string" && kind != "hash":
			it.found = otherType
		case it.goal.Moves && it.goal.To == protocol.New:
			open = append(open, it)
		default:
			it.found = there
		}
	}
	var back []*item
	for i, old := range m.looks(ctx, protocol.Old, keysOf(marked), false) {
		it := marked[i]
		it.err = old.Err
		switch {
		case old.Err != nil:
		case old.Look.Kind == protocol.Open && old.Look.Type == "list":
			it.found = otherType
		case old.Look.Seal != nil:
			it.sealed, it.home = true, protocol.Old
		case old.Look.Kind == protocol.Sealed:
			it.half = true
		case old.Look.Kind == protocol.Away && it.goal.Moves && it.goal.To == protocol.Old:
			it.into = old.Look.Nonce
			back = append(back, it)
		case old.Look.Kind == protocol.Away:
			away = append(away, it)
		}
	}
	for i, new := range m.looks(ctx, protocol.New, keysOf(away), false) {
		it := away[i]
		it.err = new.Err
		switch {
		case new.Err != nil:
		case new.Look.Seal != nil:
			it.sealed, it.home = true, protocol.New
		case new.Look.Kind == protocol.Open:
			it.found = there
		default:
			it.half = true
		}
	}
	open = m.each(ctx, protocol.New, open, func(it *item) marker.Step {
		return marker.Reserve(it.key, protocol.NewNonce(0))
	}, func(it *item, got marker.Look) bool {
		it.into = got.Nonce // the new reservation, or the marker that was there
		return got.Kind == protocol.Away
	})
	pauses = append(pauses, m.carry(ctx, protocol.Old, open)...)
	return append(pauses, m.carry(ctx, protocol.New, back)...)
}

// carry moves keys away from a side, into the markers that they have at the other one.
func (m batches) carry(ctx context.Context, from protocol.Side, items []*item) []time.Duration {
	if len(items) == 0 {
		return nil
	}
	items = m.confirmed(ctx, from.Other(), items, func(it *item) protocol.Nonce { return it.into })
	if m.MustTouch(from) {
		items = m.each(ctx, from.Other(), items, func(it *item) marker.Step { return marker.Touch(it.key, it.into) },
			func(it *item, got marker.Look) bool { return got.Kind == protocol.Away && got.Nonce == it.into })
	}
	began := time.Now()
	sealed := m.each(ctx, from, items, func(it *item) marker.Step {
		it.seal = protocol.NewNonce(it.into.Hop + 1)
		return marker.Seal(it.key, it.seal, it.into, m.MaxSeal)
	}, func(it *item, got marker.Look) bool {
		it.value = got.Value
		if got.TooLarge > 0 {
			it.found = tooLarge
		} else if got.FieldExpiry {
			it.found = fieldExpiry
		}
		return got.Kind == protocol.Sealed && got.Nonce == it.seal
	})
	sealed = m.confirmed(ctx, from, sealed, func(it *item) protocol.Nonce { return it.seal })
	if len(sealed) == 0 {
		return nil
	}
	filled := m.each(ctx, from.Other(), sealed, func(it *item) marker.Step {
		return marker.Fill(it.key, it.into, it.value)
	}, func(it *item, got marker.Look) bool {
		it.value = marker.Value{}
		return got.Kind == protocol.Open
	})
	pause := time.Since(began)
	for _, it := range filled {
		it.found = unmarked
	}
	// The reply of a fill is the further look that a mark needs: the other side was open after the seal.
	m.each(ctx, from, filled, func(it *item) marker.Step { return marker.Mark(it.key, it.seal) },
		func(it *item, _ marker.Look) bool { it.found = moved; return true })
	return []time.Duration{pause}
}

// confirmed returns the keys that have their marker on the replicas.
func (m batches) confirmed(ctx context.Context, side protocol.Side, items []*item, of func(*item) protocol.Nonce) (ok []*item) {
	if m.Replicas[side] == 0 || len(items) == 0 {
		return items
	}
	markers := mapped(items, func(it *item) marker.Marker { return marker.Marker{Key: it.key, Nonce: of(it)} })
	for i, reply := range m.ConfirmAll(ctx, side, markers) {
		items[i].err = reply.Err
		if reply.Err == nil && reply.Look.Nonce == markers[i].Nonce {
			ok = append(ok, items[i])
		}
	}
	return ok
}

// each sends one step per key in one pipeline, and returns the keys with a plain reply.
func (m batches) each(ctx context.Context, side protocol.Side, items []*item, step func(*item) marker.Step,
	plain func(*item, marker.Look) bool,
) (ok []*item) {
	for i, reply := range m.Clients[side].Do(ctx, mapped(items, step)) {
		items[i].err = reply.Err
		if reply.Err == nil && plain(items[i], reply.Look) {
			ok = append(ok, items[i])
		}
	}
	return ok
}

func keysOf(items []*item) []string { return mapped(items, func(it *item) string { return it.key }) }

// mapped returns the results of f.
func mapped[T, R any](list []T, f func(T) R) []R {
	results := make([]R, len(list))
	for i, element := range list {
		results[i] = f(element)
	}
	return results
}
