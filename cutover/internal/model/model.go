package model

import (
	"fmt"

	"github.com/unwatch/unwatch/cutover/internal/protocol"
)

// Kind is the action of a process on the key.
type Kind uint8

// The operations of a process.
const (
	Forward  Kind = iota // moves the key to the new store
	Backward             // moves the key to the old store
	Update
	Delete
	Read
	Blind // negative control: SET on the old store
	Reap  // negative control: deletes the old store's marker of a key that is absent in the new one
)

// Operation is one of a process, that it repeats until it is done.
type Operation struct {
	Kind  Kind
	Value uint8 // that an Update writes
	TTL   uint8 // ticks that the value of an Update lives; 0: for ever
}

// Config is what Explore explores.
type Config struct {
	// Value and TTL of the old store at first. Value 0: the key is absent.
	Value, TTL uint8
	// Processes are the operations of each process, one after the other.
	Processes [][]Operation
	// GiveUps counts the calls, of all processes, that stop waiting for a reply. Their messages
	// stay in flight.
	GiveUps uint8
	// MaxHop ends movers; 0: no limit.
	MaxHop uint8
	// Ticks of time may pass.
	Ticks uint8
	// FailoversOld and FailoversNew are the stores that fail over, to a replica that lags
	// arbitrarily. If both are above 0, their sum counts the failovers of both.
	FailoversOld, FailoversNew uint8
	// TwoPrimaries makes each failover a partition: the old primary remains, isolated from its
	// replicas, until it is demoted. Meanwhile each look and each command reaches either primary.
	// An update of the isolated primary counts as refused, as with min-replicas-to-write, or as lost
	// by the failover. No marker is confirmed in the meantime, since the new primary lacks a replica.
	TwoPrimaries bool
	// SpareReplica lets the new primary confirm markers during the partition, with a further replica.
	SpareReplica bool
	// NoWait is a negative control: a seal is not replicated before the fill.
	NoWait bool
	// OnlyHome checks no invariant but that a process alone finds a home: with NoWait, a failover
	// loses values.
	OnlyHome bool
	// UnreplicatedReservation is a negative control: a key is sealed for a reservation that the
	// new store's replica does not have.
	UnreplicatedReservation bool
	// Trusts is a negative control: a Seal of the new store, or an Unseal, that does not wait until the
	// other store's replica has the marker that the step relies on.
	Trusts protocol.Do
	// Shortcuts lets a process also do what package cutover does to save round trips: it seals for its
	// reservation, fills its seal, and then updates the key, without a look in between.
	Shortcuts bool
	// TakesBack is a negative control: a mover takes its reservation back if the old store has no value.
	TakesBack bool
	// SweepsOldOnly is a negative control: the last sweep visits no name that only the new store has.
	SweepsOldOnly bool

	// Decide replaces protocol.Decide in a negative control.
	Decide func(old, new protocol.Look) protocol.Step
	// NoThirdLook, Copy and Durations are negative controls: OldIsOpen is not checked; a
	// sealed value is copied by this verb instead of a fill; a fill is given the time that the
	// value had left when it was sealed.
	NoThirdLook bool
	Copy        verb
	Durations   bool
	// WaitLives is a negative control: the wait for the replicas counts as time to live.
	WaitLives bool
}

func (c *Config) fails(side protocol.Side) bool {
	return side == protocol.Old && c.FailoversOld > 0 || side == protocol.New && c.FailoversNew > 0
}

func (c *Config) decide(old, new register) protocol.Step {
	if c.Decide != nil {
		return c.Decide(old.look(), new.look())
	}
	return protocol.Decide(old.look(), new.look())
}

func (c *Config) next(op Operation, old, new register) protocol.Step {
	step := c.decide(old, new)
	if step.Do == protocol.Use {
		switch op.Kind {
		case Forward:
			step = protocol.Move(protocol.New, old.look(), new.look())
		case Backward:
			step = protocol.Move(protocol.Old, old.look(), new.look())
		case Reap:
			if old.kind == protocol.Away && new.look().Absent {
				step = protocol.Step{Do: protocol.Unreserve, Side: protocol.Old, Nonce: old.look().Nonce}
			}
		}
	}
	if c.NoThirdLook && step.If == protocol.OldIsOpen {
		step.If = protocol.Always
	}
	return step
}

func (c *Config) start() state {
	first := entry{c.Value, c.TTL}
	s := state{truth: first, giveUps: c.GiveUps, failovers: c.FailoversOld + c.FailoversNew}
	s.stores[protocol.Old].entry = first
	s.replicas = s.stores
	return s
}

// event is one transition, for the text of a counterexample.
type event struct {
	what    string
	process int8 // -1: none
	message message
	side    protocol.Side
	primary int  // of the side
	done    bool // a command changed the state
}

// emit receives a successor, or a violation of an invariant.
type emit func(next state, e event, violation string)

// successors calls emit for each transition out of s.
func (c *Config) successors(s state, emit emit) {
	for i, m := range s.messages[:s.inFlight] {
		for primary := range s.primaries(m.to) {
			c.execute(s, i, primary, emit)
		}
	}
	for i := range c.Processes {
		c.advance(s, i, emit)
	}
	if s.now < c.Ticks {
		next := s
		next.now++
		for i := range next.stores {
			for _, r := range []*register{&next.stores[i], &next.replicas[i], &next.isolated} {
				if r.open() {
					r.entry = r.entry.at(next.now)
				}
			}
		}
		emit(next, event{what: "tick", process: -1}, c.broken(&next))
	}
	for _, side := range []protocol.Side{protocol.Old, protocol.New} {
		if s.primaries(side) > 1 {
			next := s
			next.isolated, next.split, next.apart = register{}, 0, false
			emit(next, event{what: "is demoted", process: -1, side: side, primary: 1}, "")
		}
		current := s.replicas[side] == s.stores[side]
		if s.failovers == 0 || !c.fails(side) {
			continue
		}
		if !current && !(s.primaries(side) > 1 && !c.SpareReplica) {
			next := s
			next.replicas[side] = next.stores[side]
			emit(next, event{what: "replicates", process: -1, side: side}, "")
		}
		if c.TwoPrimaries && !s.apart || !c.TwoPrimaries && !current {
			next := c.failover(s, side)
			if c.TwoPrimaries {
				next.isolated, next.split, next.apart = s.stores[side], side, true
			}
			emit(next, event{what: "fails over", process: -1, side: side}, c.broken(&next))
		}
	}
}

// execute has a primary of the store execute the message i.
func (c *Config) execute(s state, i, primary int, emit emit) {
	m := s.take(i)
	done, violation := c.applyAt(&s, m, primary)
	if c.Shortcuts && m.process >= 0 && violation == "" {
		if next := s; c.shortcut(&next, m, primary, done) {
			emit(next, event{what: "executes", process: m.process, message: m, side: m.to, primary: primary, done: done}, c.broken(&next))
		}
	}
	if m.process >= 0 && (m.verb != confirm || !done) {
		p := &s.processes[m.process]
		switch {
		case p.progress == copying:
			s.send(message{to: protocol.Old, verb: mark, nonce: p.old.nonce, process: m.process})
			p.old = register{}
			p.progress = waiting
		case m.verb == commit && done, m.verb == blind:
			*p = process{operation: p.operation + 1}
		case m.verb == reserve && done && c.TakesBack:
			s.send(message{to: protocol.Old, verb: sealValue, nonce: tag{1, s.fresh()}, aim: m.nonce, process: m.process})
		case m.verb == sealValue && s.primary(m.to, primary).look().Absent:
			s.send(message{to: protocol.New, verb: unreserve, nonce: m.aim, process: -1})
			*p = process{operation: p.operation + 1}
		default:
			*p = process{operation: p.operation}
		}
	}
	if violation == "" {
		violation = c.broken(&s)
	}
	emit(s, event{what: "executes", process: m.process, message: m, side: m.to, primary: primary, done: done}, violation)
}

// applyAt is apply at one of the primaries. An isolated one changes no truth, and confirms nothing.
func (c *Config) applyAt(s *state, m message, primary int) (done bool, violation string) {
	if m.verb == confirm && s.primaries(m.to) > 1 && (primary > 0 || !c.SpareReplica) {
		return false, ""
	}
	if primary == 0 {
		return c.apply(s, m)
	}
	before := *s
	s.stores[m.to] = s.isolated
	done, _ = c.apply(s, m)
	s.isolated, s.stores[m.to] = s.stores[m.to], before.stores[m.to]
	s.truth, s.truthAt, s.moved = before.truth, before.truthAt, before.moved
	return done, ""
}

// apply changes the register as the command does; done says whether it did.
func (c *Config) apply(s *state, m message) (done bool, violation string) {
	r := &s.stores[m.to]
	switch m.verb {
	case reserve:
		if done = r.open() && r.entry.value == 0; done {
			*r = register{kind: protocol.Away, nonce: m.nonce}
		}
	case seal, sealValue:
		if done = r.open() && !(m.verb == sealValue && r.entry.value == 0); done {
			*r = register{kind: protocol.Sealed, nonce: m.nonce, aim: m.aim, entry: r.entry, sealed: s.now}
		}
	case fill:
		if done = r.kind == protocol.Away && r.nonce == m.nonce; done {
			violation = c.filled(s, m)
			*r = register{entry: m.entry.after(s.now)}
			s.truth = r.entry
			s.moved = true
		}
	case mark:
		if done = r.kind == protocol.Sealed && r.nonce == m.nonce; done {
			r.kind = protocol.Away
		}
	case unseal:
		if done = r.kind == protocol.Sealed && r.nonce == m.nonce; done {
			*r = register{entry: r.entry.at(s.now)}
		}
	case unreserve:
		if done = r.kind == protocol.Away && (r.look().Reservation() || m.to == protocol.Old) && r.nonce == m.nonce; done {
			*r = register{}
			s.moved = s.moved && m.to == protocol.New // a Reap leaves the key as before its first move
		}
	case commit:
		if done = r.open() && r.entry.value == m.guard; done {
			if truth := s.truth.at(s.now); truth.value != m.guard {
				violation = fmt.Sprintf("an update replaced %d, the truth was %d", m.guard, truth.value)
			}
			r.entry = m.entry.after(s.now)
			s.truth, s.truthAt = r.entry, m.to
		}
	case confirm:
		if done = !r.open() && r.nonce == m.nonce && m.process >= 0; done {
			if s.failovers > 0 {
				s.replicas[m.to] = *r
			}
			next := message{to: m.to.Other(), verb: fill, nonce: m.aim, entry: m.entry, asOf: s.now, process: m.process}
			if !c.WaitLives {
				next.entry = m.entry.after(m.asOf).left(s.now)
			}
			if c.Shortcuts {
				next.aim = m.nonce
			}
			s.send(next)
		}
	case Put, Create:
		if done = m.verb == Put || r.open() && r.entry.value == 0; done {
			*r = register{entry: m.entry.after(s.now)}
			s.moved = s.moved || m.to == protocol.New
		}
	case blind:
		*r = register{entry: m.entry}
		s.truth, s.truthAt = r.entry, m.to
		done = true
	}
	return done, violation
}

// filled checks I6 and that a fill writes the truth.
func (c *Config) filled(s *state, m message) string {
	truth, wrote := s.truth, m.entry.after(s.now)
	if wrote.value == 0 || truth.value == 0 {
		if wrote.value != truth.at(s.now).value {
			return fmt.Sprintf("a fill wrote %d, the truth was %d", wrote.value, truth.at(s.now).value)
		}
		return ""
	}
	delay := s.now - m.asOf
	switch {
	case wrote.value != truth.value:
		return fmt.Sprintf("a fill wrote %d, the truth was %d", wrote.value, truth.value)
	case (wrote.until == 0) != (truth.until == 0):
		return "a fill lost or made an expiry"
	case wrote.until < truth.until:
		return fmt.Sprintf("a move shortened the expiry from %d to %d", truth.until, wrote.until)
	case wrote.until > truth.until+delay:
		return fmt.Sprintf("a move extended the expiry from %d to %d, the command took %d", truth.until, wrote.until, delay)
	}
	return ""
}

// broken checks I2 and I3.
func (c *Config) broken(s *state) string {
	old, new := &s.stores[protocol.Old], &s.stores[protocol.New]
	truth := s.truth.at(s.now)
	switch {
	case s.moved && old.open() && new.open():
		return "both stores are home"
	case old.open() && old.entry.at(s.now) != truth:
		return "the old store is open and does not hold the truth"
	case new.open() && (new.entry.value != 0 || old.kind == protocol.Away) && new.entry.at(s.now) != truth:
		return "the new store is open and does not hold the truth"
	}
	return ""
}

// failover makes the side's replica its master. The server loses commits that it acknowledged, and
// the truth becomes the value that a process finds. A value that came by a move, and a commit of the
// other store, must stay.
func (c *Config) failover(s state, side protocol.Side) state {
	home := protocol.Old
	if !s.stores[protocol.Old].open() && s.stores[protocol.New].open() {
		home = protocol.New
	}
	inTransit := !s.stores[protocol.Old].open() && !s.stores[protocol.New].open()
	s.stores[side] = s.replicas[side]
	s.failovers--
	if s.failovers == 0 {
		s.replicas = [2]register{}
	}
	if s.truthAt == side && (home == side || inTransit) {
		s.truth = c.found(s)
	}
	return s
}

// found returns the value that a process finds without any knowledge.
func (c *Config) found(s state) entry {
	for _, side := range []protocol.Side{protocol.Old, protocol.New} {
		s.truth = s.stores[side].entry
		if found, problem := c.recover(s); problem == "" && found.value == s.truth.at(s.now).value {
			return found
		}
	}
	return s.truth
}

// recover plays a process alone, without any knowledge, and returns the value that it finds.
func (c *Config) recover(s state) (entry, string) {
	home, problem := c.play(&s, c.decide)
	return s.stores[home].entry.at(s.now), problem
}

// play takes the steps of one process, alone, until it may use a store.
func (c *Config) play(s *state, decide func(old, new register) protocol.Step) (home protocol.Side, problem string) {
	for range 12 {
		step := decide(s.stores[protocol.Old], s.stores[protocol.New])
		m := message{to: step.Side, nonce: tagOf(step.Nonce), process: -1, asOf: s.now}
		switch step.Do {
		case protocol.Use:
			return step.Side, ""
		case protocol.Refuse:
			return 0, "a process alone looks again for ever"
		case protocol.Reserve:
			m.nonce = tag{0, s.fresh()}
		case protocol.Seal:
			m.nonce, m.aim = tag{m.nonce.hop + 1, s.fresh()}, m.nonce
		case protocol.Fill:
			m.entry = s.stores[step.Side.Other()].entry.left(s.now)
		}
		m.verb = verbs[step.Do]
		if _, problem = c.apply(s, m); problem != "" && !c.OnlyHome {
			return 0, problem
		}
	}
	return 0, "a process alone finds no home within 12 commands"
}

// ended checks I4, I7 and I8 in a state with nothing in flight.
func (c *Config) ended(s state) string {
	if c.Copy != 0 && s.stores[protocol.Old].kind == protocol.Sealed {
		return "" // this control cannot finish a move, and is not there to
	}
	truth := s.truth.at(s.now)
	found, problem := c.recover(s)
	if c.OnlyHome {
		return problem
	}
	if problem == "" && found.value != truth.value {
		problem = fmt.Sprintf("a process that knows nothing finds %d, the truth is %d", found.value, truth.value)
	}
	swept := s
	for _, kind := range []Kind{Forward, Backward} {
		if problem != "" {
			break
		}
		moved := s
		_, problem = c.play(&moved, func(old, new register) protocol.Step { return c.next(Operation{Kind: kind}, old, new) })
		if problem == "" {
			problem = c.broken(&moved)
		}
		if kind == Forward && c.sweepFinds(s) {
			swept = moved
		}
	}
	if problem == "" && !swept.stores[protocol.New].open() {
		problem = "a marker of the new store blocks the key when the old store is gone"
	}
	return problem
}

// sweepFinds says whether a sweep meets the name of the key.
func (c *Config) sweepFinds(s state) bool {
	return !s.stores[protocol.Old].look().Absent || !s.stores[protocol.New].look().Absent && !c.SweepsOldOnly
}
