// Package mover moves one key between two stores, as package protocol decides. A cutover.Store and package
// operate share it.
package mover

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/unwatch/unwatch/cutover/internal/marker"
	"github.com/unwatch/unwatch/cutover/internal/protocol"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// Mover finds the home of a key, and moves it.
type Mover struct {
	Clients  [2]marker.Client // by the protocol.Side
	MaxSeal  int              // the size in bytes above which a value does not move
	Tries    int              // how often a Settle looks at both stores
	Replicas [2]int           // that must have a marker, by the protocol.Side
	Gate     *redisx.Gate
	Pauses   *Pauses // nil: they are not recorded
}

// Goal says where a call wants a key to be.
type Goal struct {
	Moves    bool          // it shall be at the side To
	To       protocol.Side // of Moves
	Creates  bool          // also if it is absent in both stores
	Unmoved  bool          // it was absent in the new store a moment ago
	Complete bool          // the old store is not to be looked at
	Opens    bool          // an update of several keys that has sealed the key ends first, as it does before a move
}

// Home is the store in which a call looks.
type Home struct {
	protocol.Side
	// Known says that the key has been there: if it is absent there now, it is absent.
	Known bool
	// Stays says that the key cannot move now.
	Stays bool
	// TooLarge says that it stays because of MaxSeal.
	TooLarge bool
	// FieldExpiry says that it stays because fields of the hash have an expiry.
	FieldExpiry bool
	// Type of the value there when it was looked up, as the command TYPE names it.
	Type string
}

// Holds says whether the value there is of the key's Kind, or absent.
func (h Home) Holds(key rmw.Key) bool { return h.Type == "none" || h.Type == key.Kind.String() }

// Pause is between two attempts to find a home of the key.
var Pause = rmw.Backoff{Base: 200 * time.Microsecond, Max: 20 * time.Millisecond}

// ErrTooOften is the error of a call after its last attempt.
var ErrTooOften = fmt.Errorf("%w: the key moved each time it was looked for", rmw.ErrContended)

// Settle completes a move that it finds half done, and moves the key if the goal says so, after it has ended an update of
// several keys that has sealed the key. It returns the home of the key.
//
// Each step is safe wherever the process stops, and however late it is executed, so an error of a
// step says nothing of the key.
func (m *Mover) Settle(ctx context.Context, key string, goal Goal) (Home, error) {
	if goal.Complete {
		return m.unreserve(ctx, key)
	}
	if goal.Moves && goal.To == protocol.New && goal.Unmoved { // most likely it is in the old store only
		home, settled, err := m.first(ctx, key)
		if err != nil || settled {
			return home, err
		}
	}
	refused := 0
	for attempt := 1; attempt <= m.Tries; attempt++ {
		if attempt > 5 { // a step has changed nothing, as while a cluster moves the slot
			if err := redisx.Sleep(ctx, Pause.Delay(attempt, rand.Float64())); err != nil {
				return Home{}, err
			}
		}
		old, err := m.Look(ctx, protocol.Old, key)
		if err != nil {
			return Home{}, err
		}
		new, err := m.Look(ctx, protocol.New, key)
		if err != nil {
			return Home{}, err
		}
		step := protocol.Decide(old.Look, new.Look)
		if step.Do == protocol.Use && (goal.Moves || goal.Opens) && (old.Seal != nil || new.Seal != nil) {
			if err := m.Resolve(ctx, key, old, new); err != nil {
				return Home{}, err
			}
			goal.Opens = false // a later seal is of a living process
			continue
		}
		stays := false
		if step.Do == protocol.Use && goal.Moves && !(old.Absent && !goal.Creates && step.Side != goal.To) {
			step = protocol.Move(goal.To, old.Look, new.Look)
			if step.Do == protocol.Refuse {
				step, stays = protocol.Step{Do: protocol.Use, Side: protocol.Old}, true
				if refused++; refused < 3 { // the looks may be of different moments
					if err := redisx.Sleep(ctx, Pause.Delay(attempt, rand.Float64())); err != nil {
						return Home{}, err
					}
					continue
				}
			}
		}
		if step.Do == protocol.Use {
			return Home{Side: step.Side, Known: true, Stays: stays, Type: [2]marker.Look{old, new}[step.Side].Type}, nil
		}
		if step.If != protocol.Always {
			again, err := m.Look(ctx, protocol.Old, key)
			if err != nil {
				return Home{}, err
			}
			if !step.If.Holds(old.Look, again.Look) {
				continue
			}
		}
		h, settled, err := m.take(ctx, key, step, [2]marker.Look{old, new})
		if err != nil || settled && (h.Stays || !goal.Moves || h.Side == goal.To) { // a move the other way only ends halfway
			return h, err
		}
	}
	return Home{}, ErrTooOften
}

// first looks at the old store only. It moves a key that is open there.
//
// A reservation of a key that is absent there could not be taken back: another process may seal for it.
func (m *Mover) first(ctx context.Context, key string) (h Home, settled bool, err error) {
	old, err := m.Look(ctx, protocol.Old, key)
	switch {
	case err != nil || old.Kind != protocol.Open:
		return Home{}, false, err
	case old.Absent:
		return Home{Side: protocol.Old, Known: true, Type: old.Type}, true, nil
	}
	return m.take(ctx, key, protocol.Step{Do: protocol.Reserve, Side: protocol.New}, [2]marker.Look{})
}

// take sends the command of the step. settled says that it has found the home.
func (m *Mover) take(ctx context.Context, key string, step protocol.Step, looks [2]marker.Look) (
	h Home, settled bool, err error,
) {
	switch step.Do {
	case protocol.Reserve:
		n := protocol.NewNonce(0)
		got, err := m.send(ctx, step.Side, marker.Reserve(key, n))
		if err != nil || got.Nonce != n {
			return Home{}, false, err
		}
		return m.seal(ctx, key, protocol.Old, n)
	case protocol.Seal:
		return m.seal(ctx, key, step.Side, step.Nonce)
	case protocol.Fill:
		return m.fill(ctx, key, step, looks[step.Side.Other()])
	case protocol.Mark:
		_, err = m.send(ctx, step.Side, marker.Mark(key, step.Nonce))
	case protocol.Unseal:
		other := step.Side.Other() // an isolated primary of it may be the only one with the marker
		if ok, err := m.confirm(ctx, other, key, looks[other].Nonce); !ok {
			return Home{}, false, err
		}
		_, err = m.send(ctx, step.Side, marker.Unseal(key, step.Nonce))
	case protocol.Unreserve:
		_, err = m.send(ctx, step.Side, marker.Unreserve(key, step.Nonce))
	}
	return Home{}, false, err
}

// seal seals the key at the side for the other side's marker, and fills in the value there.
func (m *Mover) seal(ctx context.Context, key string, side protocol.Side, other protocol.Nonce) (
	h Home, settled bool, err error,
) {
	if ok, err := m.confirm(ctx, side.Other(), key, other); !ok { // a failover must not forget the marker
		return Home{}, false, err
	}
	if m.MustTouch(side) {
		if got, err := m.send(ctx, side.Other(), marker.Touch(key, other)); err != nil || got.Kind != protocol.Away || got.Nonce != other {
			return Home{}, false, err
		}
	}
	n, began := protocol.NewNonce(other.Hop+1), time.Now()
	got, err := m.send(ctx, side, marker.Seal(key, n, other, m.MaxSeal))
	switch {
	case err != nil:
		return Home{}, false, err
	case got.Seal != nil:
		return Home{}, false, nil
	case got.TooLarge > 0, got.Kind == protocol.Open: // or of a type that does not move
		return Home{
			Side: side, Known: true, Stays: true, TooLarge: got.TooLarge > 0, FieldExpiry: got.FieldExpiry, Type: got.Type,
		}, true, nil
	case got.Nonce != n:
		return Home{}, false, nil
	}
	h, settled, err = m.fill(ctx, key, protocol.Step{Do: protocol.Fill, Side: side.Other(), Nonce: other}, got)
	if settled {
		m.Pauses.Add(time.Since(began))
	}
	return h, settled, err
}

// MustTouch says whether a move away from the side first touches the marker at the other one. A full server refuses
// that, and the fill. So the key stays where it is, and is not sealed for a store without room. Forward, a
// reserve has shown the room; with replicas, a confirm touches the marker.
func (m *Mover) MustTouch(from protocol.Side) bool {
	return from == protocol.New && m.Replicas[protocol.Old] == 0
}

// behind sends a step on a goroutine of its own. If it fails, the next process that looks at the
// key sends it.
func (m *Mover) behind(ctx context.Context, side protocol.Side, step marker.Step) {
	ctx = context.WithoutCancel(ctx)
	m.Gate.Go(func() { _, _ = m.Clients[side].Send(ctx, step) })
}

// fill opens the key at step.Side with the value of the other side's marker, and marks that. Its
// reply is a look at step.Side after the other side was seen sealed, as [protocol.OldIsOpen] needs.
func (m *Mover) fill(ctx context.Context, key string, step protocol.Step, source marker.Look) (h Home, settled bool, err error) {
	from := step.Side.Other()
	if source.Kind == protocol.Away { // a failover has forgotten the first fill
		again, err := m.send(ctx, from, marker.LookAt(key, true))
		if err != nil || again.Look != source.Look {
			return Home{}, false, err
		}
		source = again
	}
	if ok, err := m.confirm(ctx, from, key, source.Nonce); !ok {
		return Home{}, false, err
	}
	got, err := m.send(ctx, step.Side, marker.Fill(key, step.Nonce, source.Value))
	if err != nil || got.Kind != protocol.Open {
		return Home{}, false, err
	}
	if source.Kind == protocol.Sealed {
		m.behind(ctx, from, marker.Mark(key, source.Nonce))
	}
	return Home{Side: step.Side, Known: true, Type: got.Type}, true, nil
}

// confirm waits until the replicas of the side have the marker. It returns false if there is another
// state, or with an error.
func (m *Mover) confirm(ctx context.Context, side protocol.Side, key string, n protocol.Nonce) (ok bool, err error) {
	if m.Replicas[side] == 0 {
		return true, nil
	}
	got, err := m.wait(ctx, func(ctx context.Context) marker.Reply {
		return m.ConfirmAll(ctx, side, []marker.Marker{{Key: key, Nonce: n}})[0]
	})
	return err == nil && got.Nonce == n, err
}

// ConfirmAll is confirm for several keys, in one pipeline to each server.
func (m *Mover) ConfirmAll(ctx context.Context, side protocol.Side, markers []marker.Marker) []marker.Reply {
	const limit = time.Second
	want := m.Replicas[side]
	return m.Clients[side].Confirm(ctx, markers, want, limit, func(got int) error {
		return fmt.Errorf("%d of %d replicas have the marker of the key after %v: check the replication of the %v store, or lower %s",
			got, want, limit, side, ReplicasField[side])
	})
}

// ReplicasField names the field of cutover.Config that Replicas has, by the protocol.Side.
var ReplicasField = [2]string{"Config.Replicas", "Config.NewReplicas"}

// Look looks at the key in one store.
func (m *Mover) Look(ctx context.Context, side protocol.Side, key string) (marker.Look, error) {
	return m.send(ctx, side, marker.LookAt(key, false))
}

// Resolve ends the updates of several keys that have sealed the key, by the looks at both stores.
func (m *Mover) Resolve(ctx context.Context, key string, looks ...marker.Look) error {
	for side, look := range looks {
		if look.Seal == nil {
			continue
		}
		if _, err := seal.Resolve(ctx, sender{m, protocol.Side(side)}, key, *look.Seal); err != nil {
			return err
		}
	}
	return nil
}

// sender sends the scripts of seals to one side.
type sender struct {
	*Mover
	side protocol.Side
}

// Send implements [seal.Sender].
func (s sender) Send(ctx context.Context, calls ...*seal.Call) error {
	err, ended := Await(ctx, s.Gate, func(ctx context.Context) error { return s.Clients[s.side].Calls(ctx, calls...) })
	return cmp.Or(ended, err)
}

func (m *Mover) send(ctx context.Context, side protocol.Side, step marker.Step) (marker.Look, error) {
	return m.wait(ctx, func(ctx context.Context) marker.Reply {
		look, err := m.Clients[side].Send(ctx, step)
		return marker.Reply{Look: look, Err: err}
	})
}

// wait waits for the reply until ctx ends. The command stays in flight then.
func (m *Mover) wait(ctx context.Context, send func(context.Context) marker.Reply) (marker.Look, error) {
	reply, err := Await(ctx, m.Gate, send)
	if err != nil {
		return marker.Look{}, err
	}
	return reply.Look, reply.Err
}

// Await returns what work returns, or the end of ctx. Then work continues, and Close waits for it.
func Await[T any](ctx context.Context, gate *redisx.Gate, work func(context.Context) T) (result T, err error) {
	results := make(chan T, 1)
	if err := gate.Await(ctx, func() { results <- work(context.WithoutCancel(ctx)) }); err != nil {
		return result, err
	}
	return <-results, nil
}

// unreserve takes back a reservation of the new store, which is the home of every key.
func (m *Mover) unreserve(ctx context.Context, key string) (Home, error) {
	new, err := m.Look(ctx, protocol.New, key)
	if err == nil && new.Reservation() {
		new, err = m.send(ctx, protocol.New, marker.Unreserve(key, new.Nonce))
	} else if err == nil && new.Kind != protocol.Open {
		err = fmt.Errorf("%w: the stage is Complete, and the new store has a marker of the key from an earlier stage; "+
			"a sweep with SweepConfig.NewMasters (-new-masters) removes it", rmw.ErrUnavailable)
	}
	return Home{Side: protocol.New, Known: true, Type: new.Type}, err
}
