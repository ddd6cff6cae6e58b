package model

import "fmt"

// reply is that to a command.
type reply struct {
	ok       bool
	register register // as it was
	record   record
}

// home returns the key of a register.
func home(key uint8) uint8 { return key % Keys }

// apply executes a command.
func (c *Config) apply(s *state, m message) (r reply, violation string) {
	key := &s.registers[m.key]
	r.register = *key
	switch m.verb {
	case take:
		seals := key.mark == sealed && key.nonce.id() != m.nonce.id() && c.Flaw == TakesSealed
		moved := (key.mark == moving || key.mark == away) && c.Flaw == TakesMoved
		absent := (key.mark == absent || key.mark == reserved) && c.Flaw == TakesAbsent
		if r.ok = key.mark == open || seals || moved || absent; r.ok {
			s.set(m.key, register{sealed, key.value, m.nonce})
		}
	case openKey:
		same := key.nonce == m.nonce || c.Flaw == OpensAny ||
			c.Flaw == OpensAnyRound && key.nonce != 0 && key.nonce.id() == m.nonce.id()
		if r.ok = key.mark == sealed && same; r.ok {
			next := register{value: key.value}
			if m.record.outcome == committed {
				next.value = m.record.next[home(m.key)]
			}
			s.set(m.key, next)
		}
	case decide:
		d := &s.records[m.nonce.id()]
		r.ok = d.outcome == undecided
		if r.ok || c.Flaw == Overwrites && m.record.outcome == committed {
			if *d = m.record; d.outcome == committed {
				violation = c.stored(s, m)
			}
		}
		r.record = *d
	case forget:
		s.records[m.nonce.id()] = record{}
	case ask:
		r.record = s.records[m.nonce.id()]
	case commit, exec:
		blind := c.Flaw == GuardsBlindly || c.Flaw == ExecsBlindly
		r.ok = (key.mark == open || key.mark == sealed && blind) && key.value == m.base
		if m.verb == exec {
			p := &s.processes[m.nonce] // WATCH is that of its connection
			r.ok = r.ok && (p.watching == 1 || blind)
			p.watching = 0
		}
		if r.ok {
			if s.truth[home(m.key)] != m.base {
				violation = "an update of one key replaced another value than it read"
			}
			s.set(m.key, register{value: m.base + m.record.next[0]})
			s.now(home(m.key), key.value, c)
		}
	case reserve:
		if r.ok = key.mark == absent; r.ok {
			key.mark = reserved
		}
	case move:
		if r.ok = key.mark == open || key.mark == sealed && c.Flaw == MovesSealed; r.ok {
			s.set(m.key, register{mark: moving, value: key.value})
		}
	case fill:
		if r.ok = key.mark == reserved; r.ok {
			*key = register{value: m.base}
		}
	case markAway:
		if r.ok = key.mark == moving; r.ok {
			*key = register{mark: away}
		}
	case look, none:
	}
	return r, violation
}

// set changes a register; each WATCH of it notices.
func (s *state) set(key uint8, r register) {
	s.registers[key] = r
	for i := range s.processes {
		if p := &s.processes[i]; p.watching == 1 && p.metKey == key {
			p.watching = 2
		}
	}
}

// now sets the truth, and tells the reads of one key that go on.
func (s *state) now(key uint8, value int8, c *Config) {
	s.truth[key] = value
	for i, call := range c.Processes {
		if p := &s.processes[i]; p.seen != 0 && call.only() == key {
			p.seen |= 1 << value
		}
	}
}

// stored is the moment of an update of several keys: its decision.
func (c *Config) stored(s *state, m message) string {
	i := m.nonce.id().process()
	call := c.Processes[i]
	s.processes[i].stored++
	for k := range uint8(Keys) {
		if call.keys()&(1<<k) == 0 {
			continue
		}
		if base := m.record.next[k] - call.Amounts[k]; base != s.truth[k] {
			return fmt.Sprintf("an update of key %d was computed from %d, and %d was stored", k, base, s.truth[k])
		}
		s.now(k, m.record.next[k], c)
	}
	return ""
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
