package model

import (
	"cmp"
	"fmt"
	"slices"
)

// verb is a command.
type verb uint8

const (
	none verb = iota
	take
	openKey
	decide
	forget
	ask
	look
	commit
	exec
	reserve
	move
	fill
	markAway
)

func (v verb) String() string {
	return [...]string{
		"none", "take", "open", "decide", "forget", "ask", "look", "commit", "exec", "reserve", "move", "fill", "mark",
	}[v]
}

// message is a command in flight.
type message struct {
	process int8 // that awaits the reply; -1: none
	verb    verb
	key     uint8
	nonce   nonce // or any of the id, for a decision
	record  record
	base    int8
}

func (m message) String() string {
	text := m.verb.String()
	switch m.verb {
	case take:
		text += fmt.Sprintf(" key %d for %v", m.key, m.nonce)
	case openKey:
		text += fmt.Sprintf(" key %d of %v, %v", m.key, m.nonce, m.record.outcome)
	case decide:
		text += fmt.Sprintf(" %v, %v", m.nonce, m.record.outcome)
	case forget, ask:
		text += fmt.Sprintf(" %v", m.nonce)
	default:
		text += fmt.Sprintf(" key %d", m.key)
	}
	if m.process < 0 {
		return text + ", without a process that waits"
	}
	return text + fmt.Sprintf(" by process %d", m.process)
}

func compare(a, b message) int {
	return cmp.Or(
		cmp.Compare(a.process, b.process), cmp.Compare(a.verb, b.verb), cmp.Compare(a.key, b.key), cmp.Compare(a.nonce, b.nonce),
		cmp.Compare(a.record.outcome, b.record.outcome), slices.Compare(a.record.next[:], b.record.next[:]), cmp.Compare(a.base, b.base))
}

// send puts a message in flight.
func (s *state) send(m message) {
	i := s.inFlight
	for i > 0 && compare(m, s.messages[i-1]) < 0 { // in order, so that equal states are equal
		s.messages[i] = s.messages[i-1]
		i--
	}
	s.messages[i] = m
	s.inFlight++
}

func (s *state) receive(i int) message {
	m := s.messages[i]
	copy(s.messages[i:], s.messages[i+1:s.inFlight])
	s.inFlight--
	s.messages[s.inFlight] = message{}
	return m
}

// flying reports whether a message is in flight that which accepts.
func (s *state) flying(which func(message) bool) bool {
	return slices.ContainsFunc(s.messages[:s.inFlight], which)
}

// filter keeps the messages for which change returns true, as it has changed them.
func (s *state) filter(change func(*message) bool) {
	all, n := s.messages, s.inFlight
	s.messages, s.inFlight = [maxMessages]message{}, 0
	for _, m := range all[:n] {
		if change(&m) {
			s.send(m)
		}
	}
}

// leave lets the messages of a process go on without it.
func (s *state) leave(process int) {
	s.filter(func(m *message) bool {
		if m.process != int8(process) {
			return true
		}
		m.process = -1
		return m.verb != ask && m.verb != look // which change nothing
	})
	s.processes[process].waits = 0
}

// tidy drops messages without a process that waits which can change nothing any more.
func (c *Config) tidy(s *state) {
	if c.Flaw == OpensAny || c.Flaw == OpensAnyRound || c.Flaw == Overwrites ||
		c.Flaw == ForgetsTombstone || c.Flaw == SweepsLiving || c.Failovers > 0 {
		return
	}
	useless := func(m *message) bool {
		switch {
		case m.process >= 0:
			return false
		case m.verb == openKey:
			return s.registers[m.key].nonce != m.nonce &&
				!s.flying(func(t message) bool { return t.verb == take && t.key == m.key && t.nonce == m.nonce })
		case m.verb == decide:
			id := m.nonce.id()
			p := s.processes[id.process()]
			deletes := id == idOf(id.process(), p.attempt) && (p.pc == deciding || p.pc == asking || p.pc == opening || p.pc == forgetting)
			return s.records[id].outcome != undecided && !deletes &&
				!s.flying(func(f message) bool { return f.verb == forget && f.nonce == m.nonce })
		}
		return false
	}
	if s.flying(func(m message) bool { return useless(&m) }) {
		s.filter(func(m *message) bool { return !useless(m) })
	}
}

// shown returns the value that a key shows, or will show.
func (s *state) shown(k int) (value int8, violation string) {
	if k >= moved {
		return s.valueOf(k), ""
	}
	lives := func(r register) bool { return r.mark == open || r.mark == sealed }
	here, there := s.registers[k], s.registers[Keys+k]
	switch {
	case lives(here) && lives(there):
		return 0, fmt.Sprintf("key %d has two homes", k)
	case here.mark == away && !lives(there):
		return 0, fmt.Sprintf("key %d has no home", k)
	case lives(there):
		return s.valueOf(Keys + k), ""
	}
	return s.valueOf(k), ""
}

// valueOf returns the value of a register: the new one, if the update that has sealed it is decided.
func (s *state) valueOf(at int) int8 {
	r := s.registers[at]
	if d := s.records[idOfSeal(r)]; r.mark == sealed && d.outcome == committed {
		return d.next[home(uint8(at))]
	}
	return r.value
}

func idOfSeal(r register) txID {
	if r.mark != sealed {
		return 0
	}
	return r.nonce.id()
}

// broken checks a state.
func (s *state) broken() string {
	for k, truth := range s.truth {
		switch value, violation := s.shown(k); {
		case violation != "":
			return violation
		case value != truth:
			return fmt.Sprintf("key %d shows %d, and %d was stored", k, value, truth)
		}
	}
	for i, p := range s.processes {
		switch {
		case p.stored > 1:
			return fmt.Sprintf("the values of process %d were stored twice", i)
		case p.stored > 0 && p.answered == aborted:
			return fmt.Sprintf("the values of process %d were stored, and its caller was told that they were not", i)
		}
	}
	return ""
}

// left checks a state in which all processes have ended, without a lost reply, and nothing is in flight.
func (s *state) left() string {
	for k, r := range s.registers {
		if r.mark == sealed || r.mark == moving {
			return fmt.Sprintf("key %d stays sealed", k)
		}
	}
	for id, d := range s.records {
		if d.outcome == committed {
			return fmt.Sprintf("the decision of process %d stays", txID(id).process())
		}
	}
	return ""
}
