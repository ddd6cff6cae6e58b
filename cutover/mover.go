package cutover

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/unwatch/unwatch/cutover/internal/marker"
	"github.com/unwatch/unwatch/cutover/internal/protocol"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// mover finds the home of a key, and moves it.
type mover struct {
	clients  [2]marker.Client
	maxSeal  int
	tries    int
	replicas [2]int
	gate     *redisx.Gate
	pauses   *pauses // nil without Config.Heartbeat
}

func newMover(old, new Commands, cfg Config, gate *redisx.Gate) mover {
	m := mover{
		clients: [2]marker.Client{{Commands: old}, {Commands: new}},
		maxSeal: cfg.MaxSeal, tries: cfg.MaxAttempts, replicas: [2]int{cfg.Replicas, cfg.NewReplicas}, gate: gate,
	}
	if cfg.Heartbeat != nil {
		m.pauses = cfg.Heartbeat.pauses
	}
	return m
}

// goal says where a call wants a key to be.
type goal struct {
	moves    bool          // it shall be at the side to
	to       protocol.Side // of moves
	creates  bool          // also if it is absent in both stores
	unmoved  bool          // it was absent in the new store a moment ago
	complete bool          // the old store is not to be looked at
}

// settle completes a move that it finds half done, and moves the key if the goal says so. It
// returns the home of the key.
//
// Each step is safe wherever the process stops, and however late it is executed, so an error of a
// step says nothing of the key.
func (m *mover) settle(ctx context.Context, key string, goal goal) (home, error) {
	if goal.complete {
		return m.unreserve(ctx, key)
	}
	if goal.moves && goal.to == protocol.New && goal.unmoved { // most likely it is in the old store only
		home, settled, err := m.first(ctx, key)
		if err != nil || settled {
			return home, err
		}
	}
	refused := 0
	for attempt := 1; attempt <= m.tries; attempt++ {
		if attempt > 5 { // a step has changed nothing, as while a cluster moves the slot
			if err := redisx.Sleep(ctx, pause.Delay(attempt, rand.Float64())); err != nil {
				return home{}, err
			}
		}
		old, err := m.look(ctx, protocol.Old, key)
		if err != nil {
			return home{}, err
		}
		new, err := m.look(ctx, protocol.New, key)
		if err != nil {
			return home{}, err
		}
		step := protocol.Decide(old.Look, new.Look)
		stays := false
		if step.Do == protocol.Use && goal.moves && !(old.Absent && !goal.creates && step.Side != goal.to) {
			step = protocol.Move(goal.to, old.Look, new.Look)
			if step.Do == protocol.Refuse {
				step, stays = protocol.Step{Do: protocol.Use, Side: protocol.Old}, true
				if refused++; refused < 3 { // the looks may be of different moments
					if err := redisx.Sleep(ctx, pause.Delay(attempt, rand.Float64())); err != nil {
						return home{}, err
					}
					continue
				}
			}
		}
		if step.Do == protocol.Use {
			return home{Side: step.Side, Known: true, Stays: stays, Type: [2]marker.Look{old, new}[step.Side].Type}, nil
		}
		if step.If != protocol.Always {
			again, err := m.look(ctx, protocol.Old, key)
			if err != nil {
				return home{}, err
			}
			if !step.If.Holds(old.Look, again.Look) {
				continue
			}
		}
		h, settled, err := m.take(ctx, key, step, [2]marker.Look{old, new})
		if err != nil || settled && (h.Stays || !goal.moves || h.Side == goal.to) { // a move the other way only ends halfway
			return h, err
		}
	}
	return home{}, errTooOften
}

// first looks at the old store only. It moves a key that is open there.
//
// A reservation of a key that is absent there could not be taken back: another process may seal for it.
func (m *mover) first(ctx context.Context, key string) (h home, settled bool, err error) {
	old, err := m.look(ctx, protocol.Old, key)
	switch {
	case err != nil || old.Kind != protocol.Open:
		return home{}, false, err
	case old.Absent:
		return home{Side: protocol.Old, Known: true, Type: old.Type}, true, nil
	}
	return m.take(ctx, key, protocol.Step{Do: protocol.Reserve, Side: protocol.New}, [2]marker.Look{})
}

// take sends the command of the step. settled says that it has found the home.
func (m *mover) take(ctx context.Context, key string, step protocol.Step, looks [2]marker.Look) (
	h home, settled bool, err error,
) {
	switch step.Do {
	case protocol.Reserve:
		n := protocol.NewNonce(0)
		got, err := m.send(ctx, step.Side, marker.Reserve(key, n))
		if err != nil || got.Nonce != n {
			return home{}, false, err
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
			return home{}, false, err
		}
		_, err = m.send(ctx, step.Side, marker.Unseal(key, step.Nonce))
	case protocol.Unreserve:
		_, err = m.send(ctx, step.Side, marker.Unreserve(key, step.Nonce))
	}
	return home{}, false, err
}

// seal seals the key at the side for the other side's marker, and fills in the value there.
func (m *mover) seal(ctx context.Context, key string, side protocol.Side, other protocol.Nonce) (
	h home, settled bool, err error,
) {
	if ok, err := m.confirm(ctx, side.Other(), key, other); !ok { // a failover must not forget the marker
		return home{}, false, err
	}
	if m.mustTouch(side) {
		if got, err := m.send(ctx, side.Other(), marker.Touch(key, other)); err != nil || got.Kind != protocol.Away || got.Nonce != other {
			return home{}, false, err
		}
	}
	n, began := protocol.NewNonce(other.Hop+1), time.Now()
	got, err := m.send(ctx, side, marker.Seal(key, n, other, m.maxSeal))
	switch {
	case err != nil:
		return home{}, false, err
	case got.TooLarge > 0, got.Kind == protocol.Open: // or of a type that does not move
		return home{
			Side: side, Known: true, Stays: true, TooLarge: got.TooLarge > 0, FieldExpiry: got.FieldExpiry, Type: got.Type,
		}, true, nil
	case got.Nonce != n:
		return home{}, false, nil
	}
	h, settled, err = m.fill(ctx, key, protocol.Step{Do: protocol.Fill, Side: side.Other(), Nonce: other}, got)
	if settled {
		m.pauses.add(time.Since(began))
	}
	return h, settled, err
}

// mustTouch says whether a move away from the side first touches the marker at the other one. A full server refuses
// that, and the fill. So the key stays where it is, and is not sealed for a store without room. Forward, a
// reserve has shown the room; with replicas, a confirm touches the marker.
func (m *mover) mustTouch(from protocol.Side) bool {
	return from == protocol.New && m.replicas[protocol.Old] == 0
}

// behind sends a step on a goroutine of its own. If it fails, the next process that looks at the
// key sends it.
func (m *mover) behind(ctx context.Context, side protocol.Side, step marker.Step) {
	ctx = context.WithoutCancel(ctx)
	m.gate.Go(func() { _, _ = m.clients[side].Send(ctx, step) })
}

// fill opens the key at step.Side with the value of the other side's marker, and marks that. Its
// reply is a look at step.Side after the other side was seen sealed, as [protocol.OldIsOpen] needs.
func (m *mover) fill(ctx context.Context, key string, step protocol.Step, source marker.Look) (h home, settled bool, err error) {
	from := step.Side.Other()
	if source.Kind == protocol.Away { // a failover has forgotten the first fill
		again, err := m.send(ctx, from, marker.LookAt(key, true))
		if err != nil || again.Look != source.Look {
			return home{}, false, err
		}
		source = again
	}
	if ok, err := m.confirm(ctx, from, key, source.Nonce); !ok {
		return home{}, false, err
	}
	got, err := m.send(ctx, step.Side, marker.Fill(key, step.Nonce, source.Value))
	if err != nil || got.Kind != protocol.Open {
		return home{}, false, err
	}
	if source.Kind == protocol.Sealed {
		m.behind(ctx, from, marker.Mark(key, source.Nonce))
	}
	return home{Side: step.Side, Known: true, Type: got.Type}, true, nil
}

// confirm waits until the replicas of the side have the marker. It returns false if there is another
// state, or with an error.
func (m *mover) confirm(ctx context.Context, side protocol.Side, key string, n protocol.Nonce) (ok bool, err error) {
	if m.replicas[side] == 0 {
		return true, nil
	}
	got, err := m.wait(ctx, func(ctx context.Context) marker.Reply {
		return m.confirmAll(ctx, side, []marker.Marker{{Key: key, Nonce: n}})[0]
	})
	return err == nil && got.Nonce == n, err
}

// confirmAll is confirm for several keys, in one pipeline to each server.
func (m *mover) confirmAll(ctx context.Context, side protocol.Side, markers []marker.Marker) []marker.Reply {
	const limit = time.Second
	want := m.replicas[side]
	return m.clients[side].Confirm(ctx, markers, want, limit, func(got int) error {
		return fmt.Errorf("%d of %d replicas have the marker of the key after %v: check the replication of the %v store, or lower %s",
			got, want, limit, side, replicasField[side])
	})
}

var replicasField = [2]string{"Config.Replicas", "Config.NewReplicas"}

func (m *mover) look(ctx context.Context, side protocol.Side, key string) (marker.Look, error) {
	return m.send(ctx, side, marker.LookAt(key, false))
}

func (m *mover) send(ctx context.Context, side protocol.Side, step marker.Step) (marker.Look, error) {
	return m.wait(ctx, func(ctx context.Context) marker.Reply {
		look, err := m.clients[side].Send(ctx, step)
		return marker.Reply{Look: look, Err: err}
	})
}

// wait waits for the reply until ctx ends. The command stays in flight then.
func (m *mover) wait(ctx context.Context, send func(context.Context) marker.Reply) (marker.Look, error) {
	reply, err := await(ctx, m.gate, send)
	if err != nil {
		return marker.Look{}, err
	}
	return reply.Look, reply.Err
}

// await returns what work returns, or the end of ctx. Then work continues, and Close waits for it.
func await[T any](ctx context.Context, gate *redisx.Gate, work func(context.Context) T) (result T, err error) {
	results := make(chan T, 1)
	if err := gate.Await(ctx, func() { results <- work(context.WithoutCancel(ctx)) }); err != nil {
		return result, err
	}
	return <-results, nil
}

// unreserve takes back a reservation of the new store, which is the home of every key.
func (m *mover) unreserve(ctx context.Context, key string) (home, error) {
	new, err := m.look(ctx, protocol.New, key)
	if err == nil && new.Reservation() {
		new, err = m.send(ctx, protocol.New, marker.Unreserve(key, new.Nonce))
	} else if err == nil && new.Kind != protocol.Open {
		err = fmt.Errorf("%w: the stage is Complete, and the new store has a marker of the key from an earlier stage; "+
			"a sweep with SweepConfig.NewMasters (-new-masters) removes it", rmw.ErrUnavailable)
	}
	return home{Side: protocol.New, Known: true, Type: new.Type}, err
}
