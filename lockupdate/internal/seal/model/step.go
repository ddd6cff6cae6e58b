package model

import "fmt"

// emit receives a successor, or a violation.
type emit func(next state, what func() string, violation string)

func (c *Config) start() state {
	s := state{giveUps: c.GiveUps, repeats: c.Repeats, deaths: c.Deaths, failovers: c.Failovers}
	for k := range moved {
		s.registers[Keys+k].mark = absent
	}
	for i, p := range c.Processes {
		c.begin(&s, i, p)
	}
	return s
}

// begin sends the first messages of an attempt. They may be late, so that an attempt begins at any time.
func (c *Config) begin(s *state, i int, call Process) {
	p := &s.processes[i]
	switch call.Kind {
	case Transact, ReadAll:
		c.takeRest(s, i)
	case ReadOne, Single, Watch:
		p.pc = looking
		c.request(s, i, message{verb: look, key: call.only()})
	case Move:
		p.pc = reserving
		c.request(s, i, message{verb: reserve, key: Keys})
	}
}

// successors calls emit for each transition out of s.
func (c *Config) successors(s *state, emit emit) {
	any := false
	to := func(next *state, what func() string, violation string) {
		any = true
		if violation == "" {
			violation = next.broken()
		}
		c.tidy(next)
		emit(*next, what, violation)
	}
	for i := range s.messages[:s.inFlight] {
		if i == 0 || s.messages[i] != s.messages[i-1] {
			c.execute(s, i, to)
		}
	}
	if c.Flaw == SweepsLiving {
		c.sweepDecisions(s, to)
	}
	running := false
	for i := range c.Processes {
		if p := s.processes[i]; p.pc != ended {
			running = true
			c.wait(s, i, to)
			c.fail(s, i, to)
		}
	}
	if s.repeats > 0 {
		c.repeatOpens(s, to)
	}
	if s.failovers > 0 {
		c.failOver(s, to)
	}
	switch {
	case running && !any:
		emit(*s, func() string { return "the end" }, "no process can go on")
	case !running:
		c.sweep(s, to)
		if s.inFlight == 0 && s.giveUps == c.GiveUps && s.repeats == c.Repeats && s.deaths == c.Deaths && s.failovers == c.Failovers {
			if violation := s.left(); violation != "" {
				emit(*s, func() string { return "the end" }, violation)
			}
		}
	}
}

type to func(next *state, what func() string, violation string)

// execute has a server execute the message i, and a process get the reply. A reply that is late is a process that sends late.
func (c *Config) execute(s *state, i int, to to) {
	next := *s
	m := next.receive(i)
	r, violation := c.apply(&next, m)
	if violation == "" && m.process >= 0 {
		violation = c.replied(&next, int(m.process), m, r)
	}
	to(&next, func() string { return fmt.Sprintf("%v: %v, %v %v", m, r.ok, r.register.nonce, r.record.outcome) }, violation)
}

// wait lets a process go on that has met a seal: when it is gone, or by the decision of its update, which the process
// makes if there is none. Its looks at the key are no messages, since it needs only the last one.
func (c *Config) wait(s *state, i int, to to) {
	p := s.processes[i]
	if p.pc != waiting {
		return
	}
	if s.registers[p.metKey].nonce != p.met {
		next := *s
		violation := c.resumed(&next, i)
		to(&next, func() string { return fmt.Sprintf("process %d finds key %d without its seal", i, p.metKey) }, violation)
	}
	d := s.records[p.met.id()]
	switch next := *s; {
	case c.Patient && d.outcome == undecided:
	case c.Flaw == NoTombstone, c.Flaw == LeavesApart && p.metKey >= Keys: // which finds no decision there
		if c.Flaw == LeavesApart {
			d = record{}
		}
		next.processes[i].pc = restoring
		c.request(&next, i, message{verb: openKey, key: p.metKey, nonce: p.met, record: d})
		to(&next, func() string { return fmt.Sprintf("process %d opens key %d without a decision", i, p.metKey) }, "")
	default: // the process does nothing while this is in flight, so that it need not be a message
		m := message{verb: decide, process: int8(i), nonce: p.met, record: record{outcome: aborted}}
		r, violation := c.apply(&next, m)
		c.restore(&next, i, r)
		to(&next, func() string { return fmt.Sprintf("%v: %v", m, r.record.outcome) }, violation)
	}
}

// fail lets a process die, or wait for a reply no longer.
func (c *Config) fail(s *state, i int, to to) {
	p := s.processes[i]
	if s.deaths > 0 {
		next := *s
		next.deaths--
		next.leave(i)
		next.processes[i] = process{
			pc: ended, dead: true, attempt: p.attempt, answered: p.answered, stored: p.stored, watching: p.watching, metKey: p.metKey,
		}
		to(&next, func() string { return fmt.Sprintf("process %d dies", i) }, "")
	}
	if s.giveUps > 0 && (p.waits > 0 || p.pc == waiting && !c.Patient) {
		next := *s
		next.giveUps--
		violation := c.giveUp(&next, i)
		to(&next, func() string { return fmt.Sprintf("process %d waits no longer", i) }, violation)
	}
}

// repeatOpens sends an open again after a late reply.
func (c *Config) repeatOpens(s *state, to to) {
	for _, m := range s.messages[:s.inFlight] {
		if m.verb == openKey {
			next := *s
			next.repeats--
			m.process = -1
			next.send(m)
			to(&next, func() string { return "again: " + m.String() }, "")
		}
	}
}

func (c *Config) failOver(s *state, to to) {
	next := *s
	next.replica.register, next.replica.records = s.registers[0], s.records
	if next != *s {
		to(&next, func() string { return "the replica catches up" }, "")
	}
	next = *s
	next.failovers--
	next.registers[0], next.records = s.replica.register, s.replica.records
	to(&next, func() string { return "the server of key 0 fails over" }, "")
}

// sweep ends the seals of dead processes, once all others have ended.
func (c *Config) sweep(s *state, to to) {
	for k, r := range s.registers {
		next := *s
		switch r.mark {
		case sealed:
			d := &next.records[r.nonce.id()]
			if d.outcome == undecided && c.Flaw != NoTombstone {
				d.outcome = aborted
			}
			c.apply(&next, message{verb: openKey, key: uint8(k), nonce: r.nonce, record: *d})
		case moving:
			c.apply(&next, message{verb: fill, key: uint8(Keys + k), base: r.value})
			c.apply(&next, message{verb: markAway, key: uint8(k)})
		default:
			continue
		}
		to(&next, func() string { return fmt.Sprintf("a sweep ends the mark of key %d", k) }, "")
	}
}

// sweepDecisions deletes a decision that no seal needs, although its process may be alive, and slow.
func (c *Config) sweepDecisions(s *state, to to) {
	for id, d := range s.records {
		needed := false
		for _, r := range s.registers {
			needed = needed || idOfSeal(r) == txID(id)
		}
		if d.outcome != undecided && !needed {
			next := *s
			next.records[id] = record{}
			to(&next, func() string { return fmt.Sprintf("a sweep deletes the decision %v, %v", txID(id).nonce(0), d.outcome) }, "")
		}
	}
}
