package model

import "fmt"

// emit receives a successor, or a violation.
type emit func(next state, what, violation string)

func (c *Config) start() state {
	return state{giveUps: c.GiveUps, deaths: c.Deaths, failovers: c.Failovers}
}

// successors calls emit for each transition out of s.
func (c *Config) successors(s state, emit emit) {
	for i := range s.messages[:s.inFlight] {
		c.execute(s, i, emit)
	}
	for i := range c.Processes {
		if p := s.processes[i]; !p.dead && p.pc != ended {
			c.advance(s, i, emit)
			if s.deaths > 0 {
				next := s
				next.deaths--
				c.leave(&next, i)
				next.processes[i].dead = true
				emit(next, fmt.Sprintf("process %d dies", i), "")
			}
			if s.giveUps > 0 && p.waits > 0 {
				next := s
				next.giveUps--
				c.leave(&next, i)
				c.giveUp(&next, i)
				emit(next, fmt.Sprintf("process %d waits no longer", i), "")
			}
		}
	}
	if s.failovers > 0 {
		next := s
		next.replica.register, next.replica.records = s.registers[0], s.records
		if next != s {
			emit(next, "the replica catches up", "")
		}
		next = s
		next.failovers--
		next.registers[0], next.records = s.replica.register, s.replica.records
		emit(next, "the server of key 0 fails over", next.broken())
	}
	c.sweep(s, emit)
}

// leave lets the messages of a process go on without it.
func (c *Config) leave(s *state, process int) {
	all := s.messages
	n := s.inFlight
	s.messages, s.inFlight = [maxMessages]message{}, 0
	for _, m := range all[:n] {
		if m.process == int8(process) {
			m.process = -1
		}
		s.send(m)
	}
	s.processes[process].waits = 0
}

// advance lets a process take its next step if it waits for no reply.
func (c *Config) advance(s state, i int, emit emit) {
	p := &s.processes[i]
	if p.waits > 0 && !(c.Flaw == DecidesEarly && p.pc == taking && p.got != 0) {
		return
	}
	id := idOf(i, p.attempt)
	call := c.Processes[i]
	switch p.pc {
	case starting:
		if call.Kind == Single {
			p.pc = reading
			c.request(&s, i, message{verb: read, key: keyOf(call)})
			break
		}
		p.pc = taking
		c.toEach(&s, i, call.keys(), message{verb: take, tx: id})
	case taking:
		switch {
		case p.met != 0:
			p.pc = returning
			c.toEach(&s, i, p.got, message{verb: unseal, tx: id, record: record{outcome: aborted}})
		case call.Kind == ReadAll && c.Flaw == ReadsBlindly:
			p.answered = committed
			if violation := s.current(call.keys(), p.bases); violation != "" {
				emit(s, fmt.Sprintf("process %d returns", i), violation)
				return
			}
			p.pc, p.outcome = unsealing, aborted
			c.toEach(&s, i, call.keys(), message{verb: unseal, tx: id, record: record{outcome: aborted}})
		case call.Kind == ReadAll:
			p.pc = asking
			c.request(&s, i, message{verb: decide, tx: id, record: record{outcome: aborted}})
		default:
			p.pc = deciding
			d := record{outcome: committed}
			for k := range Keys {
				d.next[k] = p.bases[k] + call.Amounts[k]
			}
			if c.Flaw == AnswersEarly {
				p.answered = committed
			}
			c.leave(&s, i)
			c.request(&s, i, message{verb: decide, tx: id, record: d})
		}
	case returning:
		p.pc = resolving
	case resolving:
		if c.Flaw == NoTombstone {
			p.pc = restoring
			c.request(&s, i, message{verb: unseal, key: p.metKey, tx: p.met, record: s.resolution(p.met)})
			break
		}
		c.request(&s, i, message{verb: decide, tx: p.met, record: record{outcome: aborted}})
	case unsealing:
		if p.outcome == committed {
			p.pc = forgetting
			c.request(&s, i, message{verb: forget, tx: id})
			break
		}
		c.again(&s, i)
	default:
		return
	}
	emit(s, fmt.Sprintf("process %d goes on", i), s.broken())
}

func keyOf(p Process) uint8 {
	for k, n := range p.Amounts {
		if n != 0 {
			return uint8(k)
		}
	}
	return 0
}

// request sends a message and waits for its reply.
func (c *Config) request(s *state, process int, m message) {
	m.process = int8(process)
	s.send(m)
	s.processes[process].waits++
}

func (c *Config) toEach(s *state, process int, keys uint8, m message) {
	for k := range uint8(Keys) {
		if keys&(1<<k) != 0 {
			m.key = k
			c.request(s, process, m)
		}
	}
}

// again begins another attempt, or fails.
func (c *Config) again(s *state, i int) {
	p := &s.processes[i]
	if p.answered != undecided {
		p.pc = ended
		return
	}
	if p.attempt+1 < c.Attempts {
		*p = process{attempt: p.attempt + 1}
		return
	}
	*p = process{pc: ended, attempt: p.attempt, answered: aborted}
}

// giveUp lets a process go on without a reply.
func (c *Config) giveUp(s *state, i int) {
	p := &s.processes[i]
	id := idOf(i, p.attempt)
	switch p.pc {
	case taking, deciding, asking, returning:
		if c.Flaw == RestoresOwn && p.pc == taking {
			d := record{outcome: committed}
			for k := range Keys {
				d.next[k] = p.bases[k] + c.Processes[i].Amounts[k]
			}
			p.pc = deciding
			c.request(s, i, message{verb: decide, tx: id, record: d})
			return
		}
		p.pc = asking // and so no late take of this attempt can hold a key for long
		c.request(s, i, message{verb: decide, tx: id, record: record{outcome: aborted}})
	case resolving, restoring, reading:
		c.again(s, i)
	case committing: // its own lost replies are a matter of the update of one key
		*p = process{pc: ended, attempt: p.attempt, dead: true}
	case unsealing, forgetting: // the sweep, or a process that meets the seal, goes on
		p.pc = ended
	case starting, ended:
	}
}

// settle decides a transaction that another process has met.
func (c *Config) settle(s *state, id txID) {
	if s.records[id].outcome == undecided && c.Flaw != NoTombstone {
		s.records[id] = record{outcome: aborted}
	}
}

// resolution is how the seal of a transaction ends.
func (s *state) resolution(id txID) record {
	if d := s.records[id]; d.outcome != undecided {
		return d
	}
	return record{outcome: aborted}
}

// sweep resolves the seals of dead processes, once all others have ended.
func (c *Config) sweep(s state, emit emit) {
	for i := range c.Processes {
		if p := s.processes[i]; !p.dead && p.pc != ended {
			return
		}
	}
	for k, r := range s.registers {
		if r.sealed != 0 {
			next := s
			c.settle(&next, r.sealed)
			c.apply(&next, message{verb: unseal, key: uint8(k), tx: r.sealed, record: next.resolution(r.sealed), process: -1})
			emit(next, "the sweep resolves a seal", next.broken())
		}
	}
}

// current returns a violation unless all values are stored now.
func (s *state) current(keys uint8, values [Keys]int8) string {
	for k := range Keys {
		if keys&(1<<k) != 0 && values[k] != s.truth[k] {
			return fmt.Sprintf("key %d was read as %d, and %d was stored", k, values[k], s.truth[k])
		}
	}
	return ""
}

// reply is that to a command.
type reply struct {
	ok      bool
	value   int8
	sealed  txID
	outcome outcome
}

// apply executes a command.
func (c *Config) apply(s *state, m message) (r reply, violation string) {
	key := &s.registers[m.key]
	switch m.verb {
	case take:
		if key.sealed == 0 || c.Flaw == TakesSealed && key.sealed != m.tx {
			key.sealed = m.tx
			return reply{ok: true, value: key.value}, ""
		}
		return reply{sealed: key.sealed}, ""
	case decide:
		d := &s.records[m.tx]
		r.ok = d.outcome == undecided
		if d.outcome == undecided || c.Flaw == Overwrites && m.record.outcome == committed {
			if *d = m.record; d.outcome == committed {
				violation = c.stored(s, m)
			}
		}
		r.outcome = d.outcome
		return r, violation
	case unseal:
		if key.sealed == m.tx || c.Flaw == UnsealsAny && key.sealed != 0 {
			if key.sealed = 0; m.record.outcome == committed {
				key.value = m.record.next[m.key]
			}
		}
	case forget:
		s.records[m.tx] = record{}
	case read:
		return reply{ok: key.sealed == 0, value: key.value, sealed: key.sealed}, ""
	case commit:
		if key.value == m.base && (key.sealed == 0 || c.Flaw == GuardsBlindly) {
			if s.truth[m.key] != m.base {
				violation = "an update of one key replaced another value than it read"
			}
			*key = register{value: m.base + m.record.next[m.key]}
			s.truth[m.key] = key.value
			return reply{ok: true}, violation
		}
	case none:
	}
	return reply{}, ""
}

// stored is the moment of a transaction: its decision.
func (c *Config) stored(s *state, m message) string {
	call := c.Processes[(m.tx-1)/maxAttempts]
	for k := range Keys {
		if call.keys()&(1<<k) == 0 {
			continue
		}
		if base := m.record.next[k] - call.Amounts[k]; base != s.truth[k] {
			return fmt.Sprintf("a transaction of key %d was computed from %d, and %d was stored", k, base, s.truth[k])
		}
		s.truth[k] = m.record.next[k]
	}
	return ""
}

// execute has a server execute the message i, and a process get the reply.
func (c *Config) execute(s state, i int, emit emit) {
	m := s.take(i)
	r, violation := c.apply(&s, m)
	if violation == "" && m.process >= 0 {
		violation = c.replied(&s, int(m.process), m, r)
	}
	if violation == "" {
		violation = s.broken()
	}
	emit(s, fmt.Sprintf("verb %d of %d on key %d for process %d", m.verb, m.tx, m.key, m.process), violation)
}

// replied lets a process take a reply.
func (c *Config) replied(s *state, i int, m message, r reply) string {
	p := &s.processes[i]
	call := c.Processes[i]
	p.waits--
	switch p.pc {
	case taking:
		if r.ok {
			p.got |= 1 << m.key
			p.bases[m.key] = r.value
		} else {
			p.met, p.metKey = r.sealed, m.key
		}
	case deciding, asking:
		return c.decided(s, i, call, r)
	case resolving:
		p.pc = restoring
		c.request(s, i, message{verb: unseal, key: p.metKey, tx: p.met, record: s.resolution(p.met)})
	case restoring:
		c.again(s, i)
	case forgetting:
		if c.Flaw == ForgetsEarly && p.outcome == committed {
			p.outcome = aborted // only the unseals are left
			p.pc = unsealing
			c.toEach(s, i, call.keys(), message{verb: unseal, tx: m.tx, record: p.record(call)})
			return ""
		}
		p.pc = ended
	case reading:
		if !r.ok {
			p.pc, p.met, p.metKey = resolving, r.sealed, m.key
			return ""
		}
		p.pc = committing
		c.request(s, i, message{verb: commit, key: m.key, base: r.value, record: record{next: call.Amounts}})
	case committing:
		if r.ok {
			p.answered, p.pc = committed, ended
		} else {
			c.again(s, i)
		}
	case starting, returning, unsealing, ended:
	}
	return ""
}

// record is the decision of a process that has committed.
func (p *process) record(call Process) record {
	d := record{outcome: committed}
	for k := range Keys {
		d.next[k] = p.bases[k] + call.Amounts[k]
	}
	return d
}

// decided takes the decision and answers the caller.
func (c *Config) decided(s *state, i int, call Process, r reply) string {
	p := &s.processes[i]
	id, o := idOf(i, p.attempt), r.outcome
	if call.Kind == ReadAll && p.got == call.keys() && p.met == 0 {
		// If the tombstone is of a resolver, the values may be of two moments.
		if r.ok || c.Flaw == TrustsAnyTombstone {
			if violation := s.current(call.keys(), p.bases); violation != "" {
				return violation
			}
			p.answered = committed
		}
	}
	if p.answered == committed && o != committed && call.Kind == Transact {
		return "a caller was told that an aborted transaction is stored"
	}
	p.outcome = o
	d := record{outcome: aborted}
	if o == committed {
		p.answered = committed
		d = p.record(call)
		if c.Flaw == ForgetsEarly {
			p.pc = forgetting
			c.request(s, i, message{verb: forget, tx: id})
			return ""
		}
	}
	p.pc, p.met = unsealing, 0
	c.toEach(s, i, call.keys(), message{verb: unseal, tx: id, record: d})
	return ""
}
