package model

import "fmt"

// Kind is the work of a process.
type Kind uint8

// The kinds.
const (
	Transact Kind = iota // adds its amounts to its keys, all or none
	ReadAll              // reads its keys as of one moment
	Single               // adds its amount to one key by a guarded commit
)

// Process is one process with one call.
type Process struct {
	Kind    Kind
	Amounts [Keys]int8 // of a Transact or a Single
	Reads   uint8      // keys that a Transact reads only, or a ReadAll reads: a bit each
}

// keys returns the keys of a process, a bit each.
func (p Process) keys() (bits uint8) {
	for k, n := range p.Amounts {
		if n != 0 {
			bits |= 1 << k
		}
	}
	return bits | p.Reads
}

// Keys is the number of keys.
const Keys = 3

const (
	maxProcesses = 3
	maxAttempts  = 2
	maxMessages  = 8
)

// Config is the subject of Explore.
type Config struct {
	Processes []Process
	Attempts  uint8 // of each call, at most 2
	GiveUps   uint8 // replies, of all processes, that no process waits for any longer: their command runs later, or never
	Deaths    uint8 // processes that end after any step
	Failovers uint8 // of the server of key 0 and the decisions, to a replica that lags arbitrarily

	// Flaw is a negative control, or "".
	Flaw Flaw
}

// Flaw is a rule that a negative control leaves out.
type Flaw string

// The flaws.
const (
	Overwrites         Flaw = "a decision replaces an earlier one"
	UnsealsAny         Flaw = "an unseal does not compare the transaction"
	NoTombstone        Flaw = "a resolver restores the base without a decision"
	ForgetsEarly       Flaw = "the decision is deleted before the unseals are answered"
	AnswersEarly       Flaw = "the caller is answered before the decision"
	TakesSealed        Flaw = "a take replaces the seal of another transaction"
	GuardsBlindly      Flaw = "a guarded commit of one key does not see a seal"
	DecidesEarly       Flaw = "the decision is sent before each take is answered"
	ReadsBlindly       Flaw = "values that were only read are returned without a check"
	TrustsAnyTombstone Flaw = "a read does not ask whether the tombstone is its own"
	RestoresOwn        Flaw = "after a lost reply the seals are removed without a tombstone, and the decision is sent all the same"
)

// register is a key: open, or sealed by a transaction.
type register struct {
	value  int8 // the base, if it is sealed
	sealed txID // 0: open
}

// txID is one attempt of one process.
type txID uint8

func idOf(process int, attempt uint8) txID { return txID(process*maxAttempts+int(attempt)) + 1 }

// outcome is a decision.
type outcome uint8

const (
	undecided outcome = iota
	committed
	aborted
)

// record is a decision with the new values.
type record struct {
	outcome outcome
	next    [Keys]int8
}

// verb is a command.
type verb uint8

const (
	none verb = iota
	take
	decide
	unseal
	forget
	read
	commit
)

// message is a command in flight.
type message struct {
	verb    verb
	key     uint8
	tx      txID
	record  record
	base    int8
	process int8 // that awaits the reply; -1: none
}

// pc is the step of a process.
type pc uint8

const (
	starting pc = iota
	taking
	deciding
	asking    // for the decision, or to abort
	returning // its seals, after a refusal
	resolving // another transaction
	restoring // the key that it has sealed
	unsealing // behind the answer
	forgetting
	reading
	committing
	ended
)

// process is the state of a process.
type process struct {
	pc       pc
	attempt  uint8
	waits    uint8 // replies that it waits for
	got      uint8 // keys that it has sealed
	bases    [Keys]int8
	met      txID // the transaction of a seal in its way
	metKey   uint8
	outcome  outcome
	answered outcome // of the caller
	dead     bool
}

type state struct {
	registers [Keys]register
	records   [maxProcesses*maxAttempts + 1]record
	processes [maxProcesses]process
	messages  [maxMessages]message
	inFlight  uint8
	giveUps   uint8
	deaths    uint8
	failovers uint8

	// truth is the value of each key by the order of the decisions and commits.
	truth [Keys]int8

	replica struct {
		register register
		records  [maxProcesses*maxAttempts + 1]record
	}
}

func (s *state) send(m message) {
	i := s.inFlight
	for i > 0 && less(m, s.messages[i-1]) { // in order, so that equal states are equal
		s.messages[i] = s.messages[i-1]
		i--
	}
	s.messages[i] = m
	s.inFlight++
}

func less(a, b message) bool {
	key := func(m message) [6]int8 {
		return [6]int8{m.process, int8(m.verb), int8(m.key), int8(m.tx), int8(m.record.outcome), m.base}
	}
	x, y := key(a), key(b)
	for i := range x {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return false
}

func (s *state) take(i int) message {
	m := s.messages[i]
	copy(s.messages[i:], s.messages[i+1:s.inFlight])
	s.inFlight--
	s.messages[s.inFlight] = message{}
	return m
}

// broken checks that each key shows, or will show, the value by the order of the decisions.
func (s *state) broken() string {
	for k, r := range s.registers {
		shown := r.value
		if d := s.records[r.sealed]; r.sealed != 0 && d.outcome == committed {
			shown = d.next[k]
		}
		if shown != s.truth[k] {
			return fmt.Sprintf("key %d shows %d, and %d was stored", k, shown, s.truth[k])
		}
	}
	return ""
}
