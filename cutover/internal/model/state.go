package model

import "github.com/unwatch/unwatch/cutover/internal/protocol"

// Capacity of a state. Exceeding one is a bug of the model and panics.
const (
	maxProcesses = 4
	maxMessages  = 8
)

// tag is a nonce: the hop, and an id that is unique in the state. The zero tag is none.
type tag struct{ hop, id uint8 }

// entry is a value with its expiry. Value 0 is absent; until 0 never expires.
type entry struct{ value, until uint8 }

// at returns the entry that a server answers at the time now.
func (e entry) at(now uint8) entry {
	if e.value == 0 || e.until != 0 && e.until <= now {
		return entry{}
	}
	return e
}

// left returns the entry with the time that it has left instead of the time of its expiry.
func (e entry) left(now uint8) entry {
	e = e.at(now)
	if e.until != 0 {
		e.until -= now
	}
	return e
}

// after returns the inverse of left.
func (e entry) after(now uint8) entry {
	if e.until != 0 {
		e.until += now
	}
	return e
}

// register is the key in one store. A marker keeps the value that was sealed.
type register struct {
	kind       protocol.Kind
	nonce, aim tag
	entry      entry
	sealed     uint8 // time of the seal
}

func (r register) open() bool { return r.kind == protocol.Open }

func (r register) look() protocol.Look {
	return protocol.Look{Kind: r.kind, Absent: r.open() && r.entry.value == 0, Nonce: r.nonce.nonce(), For: r.aim.nonce()}
}

func (t tag) nonce() (n protocol.Nonce) {
	n.Hop = uint32(t.hop)
	n.ID = uint64(t.id)
	return n
}

func tagOf(n protocol.Nonce) tag { return tag{uint8(n.Hop), uint8(n.ID)} }

// verb is a command that a store executes.
type verb uint8

const (
	reserve verb = iota
	seal
	fill
	mark
	unseal
	unreserve
	commit
	confirm // write and WAIT, then send the fill to the other store
	// Put is a negative control: an unguarded copy.
	Put
	// Create is a negative control: a copy if absent.
	Create
	blind // negative control: SET of a process that looks at nothing
	// sealValue is a negative control: a seal that leaves an absent key alone.
	sealValue
)

// message is a command in flight.
type message struct {
	to         protocol.Side
	verb       verb
	nonce, aim tag
	guard      uint8 // of a commit: the value that it replaces
	entry      entry // to write; until is the time left
	asOf       uint8 // of a fill: when the sealed value was read
	process    int8  // that waits for the reply, or -1
}

// progress is the state of a process within one operation.
type progress uint8

const (
	idle progress = iota
	lookedOld
	lookedBoth
	waiting
	copying // negative control: the copy was sent, the mark is next
)

// process plays its operations in order.
type process struct {
	operation uint8
	progress  progress
	old, new  register // as looked at
	looked    uint8    // time of the look at old
}

// state is all that the future depends on. It is comparable.
type state struct {
	stores    [2]register
	replicas  [2]register
	isolated  register      // of the old primary of split
	split     protocol.Side // that has two primaries, if apart
	apart     bool
	truth     entry
	truthAt   protocol.Side // that executed the last commit
	moved     bool
	now       uint8
	failovers uint8
	giveUps   uint8
	processes [maxProcesses]process
	messages  [maxMessages]message
	inFlight  uint8
}

// primaries returns how many primaries a process may reach at the side.
func (s *state) primaries(side protocol.Side) int {
	if s.apart && s.split == side {
		return 2
	}
	return 1
}

// primary returns the primary i of the side. The last of two is the isolated one.
func (s *state) primary(side protocol.Side, i int) *register {
	if i > 0 {
		return &s.isolated
	}
	return &s.stores[side]
}

func (s *state) send(m message) {
	s.messages[s.inFlight] = m
	s.inFlight++
}

func (s *state) take(i int) message {
	m := s.messages[i]
	s.inFlight--
	s.messages[i] = s.messages[s.inFlight]
	s.messages[s.inFlight] = message{}
	return m
}

// fresh returns an id that is not in use.
func (s *state) fresh() uint8 {
	var last uint8
	s.tags(func(t *tag) { last = max(last, t.id) })
	return last + 1
}

// tags calls f with each tag of the state, in a fixed order.
func (s *state) tags(f func(*tag)) {
	register := func(r *register) { f(&r.nonce); f(&r.aim) }
	for i := range s.stores {
		register(&s.stores[i])
		register(&s.replicas[i])
	}
	register(&s.isolated)
	for i := range s.processes {
		register(&s.processes[i].old)
		register(&s.processes[i].new)
	}
	for i := range s.messages[:s.inFlight] {
		f(&s.messages[i].nonce)
		f(&s.messages[i].aim)
	}
}

// canonical renames ids and sorts messages, so that states that differ in neither behave alike.
func (s *state) canonical() {
	var names [256]uint8
	var next uint8
	rename := func(t *tag) {
		if *t == (tag{}) {
			return
		}
		if names[t.id] == 0 {
			next++
			names[t.id] = next
		}
		t.id = names[t.id]
	}
	messages := s.inFlight
	s.inFlight = 0
	s.tags(rename)
	s.inFlight = messages
	known := func(t tag) int { return int(t.hop)<<8 | int(names[t.id]) }
	order := func(m message) [4]int {
		return [4]int{
			int(m.to)<<16 | int(m.verb)<<8 | int(uint8(m.process)), known(m.nonce), known(m.aim),
			int(m.guard)<<24 | int(m.entry.value)<<16 | int(m.entry.until)<<8 | int(m.asOf),
		}
	}
	less := func(a, b [4]int) bool {
		for i := range a {
			if a[i] != b[i] {
				return a[i] < b[i]
			}
		}
		return false
	}
	for i := 1; i < int(messages); i++ { // insertion sort: there are few
		for j := i; j > 0 && less(order(s.messages[j]), order(s.messages[j-1])); j-- {
			s.messages[j], s.messages[j-1] = s.messages[j-1], s.messages[j]
		}
	}
	for i := range s.messages[:messages] {
		rename(&s.messages[i].nonce)
		rename(&s.messages[i].aim)
	}
}
