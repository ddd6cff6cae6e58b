package model

import "fmt"

// request sends a message and waits for its reply.
func (c *Config) request(s *state, i int, m message) {
	m.process = int8(i)
	s.send(m)
	s.processes[i].waits++
}

// takeRest takes the keys that the attempt does not hold, with a nonce of their own.
func (c *Config) takeRest(s *state, i int) {
	p := &s.processes[i]
	p.pc = taking
	p.met, p.metKey = 0, 0
	n := idOf(i, p.attempt).nonce(p.round)
	for k := range uint8(Keys) {
		if c.Processes[i].keys()&(1<<k) == 0 || p.nonces[k] != 0 {
			continue
		}
		m := message{verb: take, key: c.sealedAt(s, i, k), nonce: n}
		c.request(s, i, m)
		if c.Flaw == TakesTwice {
			m.process = -1
			s.send(m)
		}
	}
}

// at returns the register of a key.
func (p *process) at(key uint8) uint8 {
	if p.side == 1 && key < moved {
		return Keys + key
	}
	return key
}

// sealedAt returns the register of a key that an attempt takes.
func (c *Config) sealedAt(s *state, i int, key uint8) uint8 {
	p := &s.processes[i]
	if c.Flaw == LeavesApart && p.side == 1 && key < moved && s.registers[Keys+key].mark == absent {
		return key
	}
	return p.at(key)
}

// bring moves the next key of a process to its second home, or begins an attempt there.
func (c *Config) bring(s *state, i int, from uint8) {
	p := &s.processes[i]
	skips := c.Flaw == TakesAbsent || c.Flaw == LeavesApart
	for k := from; k < moved && !skips; k++ {
		if c.Processes[i].keys()&(1<<k) != 0 {
			p.pc = reserving
			c.request(s, i, message{verb: reserve, key: Keys + k})
			return
		}
	}
	p.side = 1
	c.again(s, i)
}

// giveBack opens keys with their bases, and does not wait for that: a process waits for at most half a second.
func (c *Config) giveBack(s *state, i int, which func(key uint8) bool) {
	p := &s.processes[i]
	for k := range uint8(Keys) {
		if p.nonces[k] != 0 && which(k) {
			s.send(message{process: -1, verb: openKey, key: c.sealedAt(s, i, k), nonce: p.nonces[k]})
			p.nonces[k], p.bases[k] = 0, 0
		}
	}
}

// again gives all keys back and begins another attempt, with another id, or fails.
func (c *Config) again(s *state, i int) {
	c.giveBack(s, i, func(uint8) bool { return true })
	p := &s.processes[i]
	next := process{attempt: p.attempt, answered: p.answered, stored: p.stored, seen: p.seen, side: p.side}
	switch {
	case p.answered != undecided:
		next.pc = ended
	case p.attempt+1 < c.Attempts && !p.refused:
		next.attempt++
		*p = next
		c.begin(s, i, c.Processes[i])
		return
	default:
		next.pc, next.answered = ended, aborted
	}
	next.seen = 0
	*p = next
}

// answer ends a call of one key, or a call with an unknown outcome.
func (s *state) answer(i int, o outcome) {
	p := &s.processes[i]
	next := process{pc: ended, attempt: p.attempt, answered: o, stored: p.stored, watching: p.watching, side: p.side}
	if next.watching > 0 {
		next.metKey = p.metKey
	}
	*p = next
}

// resumed goes on when a seal is gone that was in the way.
func (c *Config) resumed(s *state, i int) string {
	p := &s.processes[i]
	call := c.Processes[i]
	switch {
	case p.brings:
		p.pc = moves
		c.request(s, i, message{verb: move, key: p.metKey})
		p.met, p.metKey = 0, 0
	case call.transacts() && p.round+1 < c.Rounds:
		p.round++
		c.takeRest(s, i)
	case call.Kind == Move:
		p.pc, p.met, p.metKey = moves, 0, 0
		if p.round++; p.round < maxRounds {
			c.request(s, i, message{verb: move})
		} else {
			s.answer(i, aborted)
		}
	default:
		c.again(s, i)
	}
	return ""
}

// restore opens the key of an update that is decided.
func (c *Config) restore(s *state, i int, r reply) {
	p := &s.processes[i]
	p.pc = restoring
	c.request(s, i, message{verb: openKey, key: p.metKey, nonce: p.met, record: r.record})
}

// replied lets a process take a reply, and send its next commands.
func (c *Config) replied(s *state, i int, m message, r reply) string {
	p := &s.processes[i]
	p.waits--
	switch p.pc {
	case taking:
		return c.taken(s, i, m, r)
	case restoring:
		return c.resumed(s, i)
	case deciding, asking:
		return c.decided(s, i, m, r)
	case opening:
		if p.waits == 0 {
			c.forgets(s, i)
		}
	case forgetting:
		if c.Flaw == ForgetsEarly {
			c.opens(s, i, p.bases, m.record.outcome)
			return ""
		}
		c.again(s, i)
	case looking, inquiring:
		return c.looked(s, i, m, r)
	case committing:
		if r.ok {
			s.answer(i, committed)
		} else {
			c.again(s, i)
		}
	case reserving:
		p.pc = moves
		c.request(s, i, message{verb: move, key: home(m.key)})
	case moves:
		switch {
		case r.register.mark == sealed && !r.ok:
			p.pc, p.met, p.metKey = waiting, r.register.nonce, m.key
			return ""
		case p.brings && r.register.mark == away:
			c.bring(s, i, m.key+1)
			return ""
		case !r.ok && !p.brings: // a move of an earlier attempt
			s.answer(i, aborted)
			return ""
		}
		p.pc = filling
		c.request(s, i, message{verb: fill, key: Keys + m.key, base: r.register.value})
	case filling:
		p.pc = marking
		c.request(s, i, message{verb: markAway, key: home(m.key)})
	case marking:
		switch {
		case c.Processes[i].Kind == Move:
			s.answer(i, committed)
		case p.brings:
			c.bring(s, i, m.key+1)
		default:
			c.again(s, i)
		}
	case starting, waiting, ended:
	}
	return ""
}

// taken takes the reply to a take.
func (c *Config) taken(s *state, i int, m message, r reply) string {
	p := &s.processes[i]
	switch {
	case r.ok:
		p.nonces[home(m.key)], p.bases[home(m.key)] = m.nonce, r.register.value
	case r.register.mark != sealed:
		p.refused = true
	case p.met == 0 || m.key < p.metKey:
		p.met, p.metKey = r.register.nonce, m.key
	}
	if c.Flaw == DecidesEarly && r.ok {
		s.leave(i)
	}
	switch {
	case p.waits > 0:
	case p.refused:
		if c.Flaw == KeepsRefused {
			p.nonces = [Keys]nonce{}
		}
		if c.Processes[i].Crosses && p.side == 0 {
			c.giveBack(s, i, func(uint8) bool { return true })
			p.refused, p.brings, p.met, p.metKey = false, true, 0, 0
			c.bring(s, i, 0)
			return ""
		}
		c.again(s, i)
	case p.met != 0:
		if c.Flaw != KeepsAll {
			c.giveBack(s, i, func(key uint8) bool { return p.at(key) > p.metKey })
		}
		p.pc = waiting
	case c.Flaw == ReadsBlindly && c.Processes[i].Kind == ReadAll:
		p.answered = committed
		violation := s.current(c.Processes[i].keys(), p.bases)
		c.again(s, i)
		return violation
	default:
		c.decides(s, i)
	}
	return ""
}

// decides sends the decision of an update, or validates a read of several keys by a tombstone.
func (c *Config) decides(s *state, i int) {
	p := &s.processes[i]
	call := c.Processes[i]
	p.pc, p.met, p.metKey, p.waits = deciding, 0, 0, 0
	d := record{outcome: aborted}
	if call.Kind == Transact {
		d.outcome = committed
		for k := range Keys {
			d.next[k] = p.bases[k] + call.Amounts[k]
		}
		if c.Flaw == AnswersEarly {
			p.answered = committed
		}
		p.bases = [Keys]int8{}
	}
	c.request(s, i, message{verb: decide, nonce: idOf(i, p.attempt).nonce(0), record: d})
}

// decided takes the decision, and answers the caller.
func (c *Config) decided(s *state, i int, m message, r reply) string {
	p := &s.processes[i]
	call := c.Processes[i]
	o := r.record.outcome
	switch {
	case call.Kind == ReadAll && (p.pc == deciding && r.ok || c.Flaw == TrustsAnyTombstone):
		// If the tombstone is of another process, the values may be of two moments.
		if violation := s.current(call.keys(), p.bases); violation != "" {
			return violation
		}
	case o == committed:
	case p.answered == committed:
		return "a caller was told that an update is stored, and it is aborted"
	case c.Flaw == ForgetsTombstone:
		s.send(message{process: -1, verb: forget, nonce: idOf(i, p.attempt).nonce(0)})
		fallthrough
	default:
		c.again(s, i)
		return ""
	}
	p.answered = committed
	if c.Flaw == ForgetsEarly {
		p.bases = r.record.next
		p.pc = forgetting
		c.request(s, i, message{verb: forget, nonce: m.nonce, record: record{outcome: o}})
		return ""
	}
	c.opens(s, i, r.record.next, o)
	return ""
}

// opens opens all keys, behind the answer.
func (c *Config) opens(s *state, i int, next [Keys]int8, o outcome) {
	p := &s.processes[i]
	p.pc = opening
	for k, n := range p.nonces {
		if n != 0 {
			d := record{outcome: o}
			if o == committed {
				d.next[k] = next[k]
			}
			c.request(s, i, message{verb: openKey, key: c.sealedAt(s, i, uint8(k)), nonce: n, record: d})
		}
	}
	p.nonces, p.bases = [Keys]nonce{}, [Keys]int8{}
}

// forgets deletes the decision.
func (c *Config) forgets(s *state, i int) {
	p := &s.processes[i]
	if c.Flaw == ForgetsEarly {
		c.again(s, i)
		return
	}
	p.pc = forgetting
	c.request(s, i, message{verb: forget, nonce: idOf(i, p.attempt).nonce(0)})
}

// looked takes the reply to a look at a key, or to the question for a decision that a read of one key asks.
func (c *Config) looked(s *state, i int, m message, r reply) string {
	p := &s.processes[i]
	call := c.Processes[i]
	if call.Kind != ReadOne {
		return c.lookedToWrite(s, i, call, m, r)
	}
	shown := func(value int8) string {
		seen := p.seen
		if s.answer(i, committed); seen&(1<<value) == 0 {
			return fmt.Sprintf("a read of key %d returned %d, which it did not have during the read", call.only(), value)
		}
		return ""
	}
	if p.seen == 0 {
		p.seen = 1 << s.truth[call.only()]
	}
	if p.pc == inquiring {
		switch d := r.record; {
		case d.outcome == committed:
			return shown(d.next[call.only()])
		case d.outcome == aborted && c.Flaw == TrustsAborted || c.Flaw == ReadsOnce:
			return shown(p.bases[0])
		}
		p.pc = looking
		c.request(s, i, message{verb: look, key: call.only()})
		return ""
	}
	switch key := r.register; {
	case key.mark == open, key.mark == sealed && key.nonce == p.met: // a second look: the decision is not deleted yet
		return shown(key.value)
	case key.mark == sealed:
		p.pc, p.met, p.bases[0] = inquiring, key.nonce, key.value
		c.request(s, i, message{verb: ask, nonce: key.nonce})
	default:
		s.answer(i, aborted)
	}
	return ""
}

// lookedToWrite takes the reply to the look of a process that writes one key.
func (c *Config) lookedToWrite(s *state, i int, call Process, m message, r reply) string {
	p := &s.processes[i]
	key := r.register
	p.metKey = m.key
	switch {
	case key.mark == open:
		p.pc = committing
		w := message{verb: commit, key: m.key, base: key.value}
		w.record.next[0] = call.Amounts[call.only()]
		if call.Kind == Watch {
			w.verb, w.nonce, p.watching = exec, nonce(i), 1
		}
		c.request(s, i, w)
	case key.mark == sealed:
		p.pc, p.met = waiting, key.nonce
	case call.Kind == Watch:
		c.again(s, i)
	case key.mark == moving: // each process that knows the second home helps
		p.pc = filling
		c.request(s, i, message{verb: fill, key: Keys + m.key, base: key.value})
	default:
		c.request(s, i, message{verb: look, key: Keys + home(m.key)})
	}
	return ""
}

// giveUp lets a process go on without the replies that it waits for.
func (c *Config) giveUp(s *state, i int) string {
	p := &s.processes[i]
	id := idOf(i, p.attempt).nonce(0)
	switch p.pc {
	case taking: // a late take has no decision
		for _, m := range s.messages[:s.inFlight] {
			if m.process == int8(i) {
				p.nonces[home(m.key)] = m.nonce
			}
		}
		s.leave(i)
		if c.Flaw == DecidesAfterLoss {
			held := *p
			c.giveBack(s, i, func(uint8) bool { return true })
			*p = held
			c.decides(s, i)
			return ""
		}
		c.again(s, i)
	case deciding:
		s.leave(i)
		p.pc = asking
		c.request(s, i, message{verb: decide, nonce: id, record: record{outcome: aborted}})
	case asking, committing, opening, forgetting: // unknown, or a process that meets a seal goes on
		s.leave(i)
		s.answer(i, p.answered)
	case waiting:
		s.send(message{process: -1, verb: decide, nonce: p.met.id().nonce(0), record: record{outcome: aborted}})
		c.again(s, i)
	default:
		s.leave(i)
		c.again(s, i)
	}
	return ""
}
