package model

import (
	"slices"

	"github.com/unwatch/unwatch/cutover/internal/protocol"
)

// verbs are the commands that a step sends.
var verbs = map[protocol.Do]verb{
	protocol.Reserve: reserve, protocol.Seal: seal, protocol.Fill: fill,
	protocol.Mark: mark, protocol.Unseal: unseal, protocol.Unreserve: unreserve,
}

// advance lets the process i take its next step.
func (c *Config) advance(s state, i int, emit emit) {
	p := &s.processes[i]
	if int(p.operation) == len(c.Processes[i]) {
		return
	}
	op := c.Processes[i][p.operation]
	switch p.progress {
	case waiting, copying:
		if s.giveUps > 0 {
			s.giveUps--
			c.giveUp(&s, i)
			emit(s, event{what: "stops waiting", process: int8(i)}, "")
		}
	case idle:
		for primary := range s.primaries(protocol.Old) {
			next := s
			c.lookAtOld(&next, i, op, *s.primary(protocol.Old, primary))
			emit(next, event{what: "looks at", process: int8(i), side: protocol.Old, primary: primary}, "")
			if old := s.primary(protocol.Old, primary); c.Shortcuts && op.Kind == Forward && old.open() && old.entry.value != 0 {
				next = s
				c.take(&next, i, op, protocol.Step{Do: protocol.Reserve, Side: protocol.New})
				emit(next, event{what: "looks at", process: int8(i), side: protocol.Old, primary: primary}, "")
			}
		}
	case lookedOld:
		for primary := range s.primaries(protocol.New) {
			next := s
			violation := c.lookAtNew(&next, i, op, *s.primary(protocol.New, primary))
			emit(next, event{what: "looks at", process: int8(i), side: protocol.New, primary: primary}, violation)
		}
	case lookedBoth:
		for primary := range s.primaries(protocol.Old) {
			next, again := s, *s.primary(protocol.Old, primary)
			step := c.next(op, p.old, p.new)
			violation := ""
			if step.If.Holds(p.old.look(), again.look()) {
				violation = c.take(&next, i, op, step)
			} else {
				next.processes[i] = process{operation: p.operation}
			}
			emit(next, event{what: "looks again at", process: int8(i), side: protocol.Old, primary: primary}, violation)
		}
	}
}

// giveUp ends the process's wait. Of a commit the outcome is unknown, and its caller is told so;
// anything else starts again.
func (c *Config) giveUp(s *state, i int) {
	p := &s.processes[i]
	operation := p.operation
	for j := range s.messages[:s.inFlight] {
		if m := &s.messages[j]; m.process == int8(i) {
			m.process = -1
			if m.verb == commit {
				operation++
			}
		}
	}
	*p = process{operation: operation}
}

func (c *Config) lookAtOld(s *state, i int, op Operation, old register) {
	p := &s.processes[i]
	switch {
	case op.Kind == Blind:
		s.send(message{to: protocol.Old, verb: blind, entry: entry{value: op.Value}, process: int8(i)})
		p.progress = waiting
	case old.open() && op.Kind == Read:
		*p = process{operation: p.operation + 1}
	case old.open() && (op.Kind == Update || op.Kind == Delete):
		c.commit(s, i, op, protocol.Old, old)
	default:
		*p = process{operation: p.operation, progress: lookedOld, old: old, looked: s.now}
	}
}

func (c *Config) commit(s *state, i int, op Operation, side protocol.Side, read register) {
	m := message{to: side, verb: commit, guard: read.entry.value, process: int8(i)}
	if op.Kind == Update {
		m.entry = entry{op.Value, op.TTL}
	}
	s.send(m)
	s.processes[i] = process{operation: s.processes[i].operation, progress: waiting}
}

func (c *Config) lookAtNew(s *state, i int, op Operation, new register) (violation string) {
	p := &s.processes[i]
	if c.Copy != 0 && p.old.kind == protocol.Sealed {
		s.send(message{to: protocol.New, verb: c.Copy, entry: p.old.entry.left(p.looked), process: int8(i)})
		p.progress = copying
		return ""
	}
	p.new = new
	step := c.next(op, p.old, p.new)
	if step.Side == protocol.Old && step.Do == protocol.Fill {
		p.looked = s.now // the value is the new store's
	}
	if step.If != protocol.Always {
		p.progress = lookedBoth
		return ""
	}
	return c.take(s, i, op, step)
}

// take takes the step, of which the condition holds.
func (c *Config) take(s *state, i int, op Operation, step protocol.Step) (violation string) {
	p := s.processes[i]
	s.processes[i] = process{operation: p.operation}
	if step.Forgotten && s.failovers == c.FailoversOld+c.FailoversNew {
		return "a process takes a store for forgetful, and none has failed over"
	}
	switch step.Do {
	case protocol.Refuse:
		return ""
	case protocol.Use:
		switch op.Kind {
		case Update, Delete:
			c.commit(s, i, op, step.Side, [2]register{p.old, p.new}[step.Side])
		default:
			s.processes[i].operation++
		}
		return ""
	}
	if other := [2]register{p.old, p.new}[step.Side.Other()]; !c.mayTake(s, step, other.nonce) {
		return ""
	}
	m := message{to: step.Side, verb: verbs[step.Do], nonce: tagOf(step.Nonce), process: int8(i)}
	switch step.Do {
	case protocol.Reserve:
		if c.Copy != 0 { // this control seals without a reservation
			m = message{to: protocol.Old, verb: seal, nonce: tag{1, s.fresh()}, process: int8(i)}
			break
		}
		m.nonce = tag{0, s.fresh()}
	case protocol.Seal:
		m.aim = m.nonce
		m.nonce = tag{m.aim.hop + 1, s.fresh()}
		if c.MaxHop > 0 && m.nonce.hop > c.MaxHop {
			s.processes[i].operation++
			return ""
		}
	case protocol.Fill:
		source := p.old
		if step.Side == protocol.Old {
			source = p.new
		}
		m.entry, m.asOf = source.entry.left(p.looked), p.looked
		if c.Durations {
			m.entry = source.entry.left(source.sealed)
		}
		if c.Shortcuts {
			m.aim = source.nonce
		}
		if from := step.Side.Other(); c.fails(from) && !c.NoWait {
			m.to, m.verb, m.nonce, m.aim = from, confirm, source.nonce, m.nonce
		}
	}
	s.send(m)
	s.processes[i].progress = waiting
	return ""
}

// shortcut lets the process take the step that follows from the reply to its command, and says whether
// there is one.
func (c *Config) shortcut(s *state, m message, primary int, done bool) bool {
	i := int(m.process)
	r := *s.primary(m.to, primary)
	p := &s.processes[i]
	switch {
	case m.verb == reserve && done:
		*p = process{operation: p.operation, new: r}
		return c.take(s, i, c.Processes[i][p.operation], protocol.Step{Do: protocol.Seal, Side: m.to.Other(), Nonce: r.nonce.nonce()}) == ""
	case m.verb == seal && done:
		*p = process{operation: p.operation, looked: s.now}
		*[2]*register{&p.old, &p.new}[m.to] = r
		return c.take(s, i, c.Processes[i][p.operation], protocol.Step{Do: protocol.Fill, Side: m.to.Other(), Nonce: m.aim.nonce()}) == ""
	case m.verb == fill && r.open():
		behind := message{to: m.to.Other(), verb: mark, nonce: m.aim, process: -1}
		if !slices.Contains(s.messages[:s.inFlight], behind) {
			s.send(behind)
		}
		op := c.Processes[i][p.operation]
		switch op.Kind {
		case Forward, Backward:
			if (op.Kind == Forward) != (m.to == protocol.New) { // the end of a move the other way
				*p = process{operation: p.operation}
				return true
			}
			*p = process{operation: p.operation + 1}
			if int(p.operation) == len(c.Processes[i]) {
				return true
			}
			op = c.Processes[i][p.operation]
		}
		if op.Kind == Update || op.Kind == Delete {
			c.commit(s, i, op, m.to, r)
		}
		return true
	}
	return false
}

// mayTake says whether the replica of the other side has the marker that a step relies on.
func (c *Config) mayTake(s *state, step protocol.Step, marker tag) bool {
	side := step.Side.Other()
	switch {
	case !c.fails(side):
		return true
	case step.Do == protocol.Seal && side == protocol.New:
		return c.UnreplicatedReservation || c.confirms(s, side, marker)
	case step.Do == protocol.Seal, step.Do == protocol.Unseal:
		return c.NoWait || c.Trusts == step.Do || c.confirms(s, side, marker)
	}
	return true
}

// confirms says whether the side's replica has the marker now.
func (c *Config) confirms(s *state, side protocol.Side, marker tag) bool {
	if s.primaries(side) > 1 && !c.SpareReplica || s.stores[side].nonce != marker {
		return false
	}
	return s.failovers == 0 || s.replicas[side].nonce == marker
}
