package model

import "fmt"

// Kind is the work of a process.
type Kind uint8

// The kinds.
const (
	Transact Kind = iota // adds its amounts to its keys, all or none
	ReadAll              // reads its keys as of one moment
	ReadOne              // reads one key, and does not wait at a seal
	Single               // adds its amount to one key by a guarded commit, in the home of the key
	Watch                // adds its amount to one key by WATCH and EXEC
	Move                 // moves key 0 to its second home
)

// Process is one process with one call.
type Process struct {
	Kind    Kind
	Amounts [Keys]int8
	Reads   uint8 // keys that are read and not written, a bit each
	Crosses bool  // an update that knows the second homes: it brings all its keys there if one of them has moved
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

// only returns the key of a process that has one.
func (p Process) only() uint8 {
	for k := range uint8(Keys) {
		if p.keys()&(1<<k) != 0 {
			return k
		}
	}
	return 0
}

// transacts reports whether a process seals keys.
func (p Process) transacts() bool { return p.Kind == Transact || p.Kind == ReadAll }

const (
	// Keys is the number of keys.
	Keys = 3
	// moved is the number of keys with a second home, whose registers follow those of the first homes.
	moved = 2

	maxProcesses = 4
	maxAttempts  = 2
	maxRounds    = 2
	maxMessages  = 24
)

// Config is the subject of Explore.
type Config struct {
	Processes []Process
	Attempts  uint8 // of each call, at most 2
	Rounds    uint8 // of takes with one id, at most 2
	GiveUps   uint8 // replies, of all processes, that are not awaited: the command runs late, or never
	Repeats   uint8 // opens that are sent again
	Deaths    uint8 // processes that end after any step
	Failovers uint8 // of the server of key 0 and the decisions, to a replica that lags arbitrarily

	// Patient processes wait for decisions, and do not abort an update. In every state a process must be able to go on.
	Patient bool

	// Flaw is a negative control, or "".
	Flaw Flaw
}

// Flaw is a rule that a negative control leaves out.
type Flaw string

// The flaws.
const (
	Overwrites         Flaw = "a decision replaces an earlier one"
	OpensAny           Flaw = "an open does not compare the nonce"
	OpensAnyRound      Flaw = "an open compares the id, and not the number of the take"
	NoTombstone        Flaw = "a resolver restores the base without a decision"
	ForgetsEarly       Flaw = "the decision is deleted before the opens are answered"
	ForgetsTombstone   Flaw = "a tombstone is deleted while the decision may be late"
	AnswersEarly       Flaw = "the caller is answered before the decision"
	TakesSealed        Flaw = "a take replaces the seal of another update"
	TakesMoved         Flaw = "a take replaces the marker of a move"
	TakesTwice         Flaw = "a take is sent twice"
	MovesSealed        Flaw = "a move replaces the seal of an update"
	GuardsBlindly      Flaw = "a guarded commit of one key does not see a seal"
	ExecsBlindly       Flaw = "an EXEC does not see a seal"
	DecidesEarly       Flaw = "the decision is sent before each take is answered"
	DecidesAfterLoss   Flaw = "after a lost reply to a take the keys are opened, and the decision is sent all the same"
	ReadsBlindly       Flaw = "values that were only read are returned without a check"
	ReadsOnce          Flaw = "a read of one key returns the base without a second look"
	TrustsAborted      Flaw = "a read of one key believes a tombstone without a second look"
	TrustsAnyTombstone Flaw = "a read does not ask whether the tombstone is its own"
	SweepsLiving       Flaw = "a sweep deletes a decision of a living process, after its seals"
	KeepsRefused       Flaw = "an attempt that meets the marker of a move keeps its seals"
	KeepsAll           Flaw = "a refused attempt keeps the keys behind the refused one"
	LeavesApart        Flaw = "an update takes each key at its home, with a decision that only the first homes know"
	TakesAbsent        Flaw = "an update takes a key in the second home that has not moved"
)

// mark is the state of a register.
type mark uint8

const (
	open     mark = iota
	sealed        // by an update
	moving        // the marker of a move, with the value
	away          // the second home has the key
	absent        // of the second home
	reserved      // of the second home, for a move
)

// register is a key in a home.
type register struct {
	mark  mark
	value int8 // the base, if it is sealed
	nonce nonce
}

// txID is one attempt of one process; 0 is none.
type txID uint8

func idOf(process int, attempt uint8) txID { return txID(process*maxAttempts+int(attempt)) + 1 }

func (t txID) process() int { return int(t-1) / maxAttempts }

// nonce is the id of an attempt and the number of its takes.
type nonce uint8

func (t txID) nonce(round uint8) nonce { return nonce(uint8(t-1)*maxRounds+round) + 1 }

func (n nonce) id() txID { return txID((n-1)/maxRounds) + 1 }

func (n nonce) String() string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprintf("%d.%d/%d", n.id().process(), (int(n.id())-1)%maxAttempts+1, int(n-1)%maxRounds+1)
}

// outcome is a decision.
type outcome uint8

const (
	undecided outcome = iota
	committed
	aborted
)

func (o outcome) String() string { return [...]string{"undecided", "committed", "aborted"}[o] }

// record is a decision with the new values.
type record struct {
	outcome outcome
	next    [Keys]int8
}

// pc is the step of a process.
type pc uint8

const (
	starting   pc = iota
	taking        // all keys
	waiting       // for the end of a seal that it has met
	restoring     // the key of that update
	deciding      // its own update
	asking        // for its decision, after a lost reply
	opening       // its keys, behind the answer
	forgetting    // its decision
	looking       // at its key, to read or to write it
	inquiring     // about a decision, for a read of one key
	committing    // one key
	reserving     // the second home
	moves         // key 0 out of its first home
	filling       // the second home
	marking       // the first home
	ended
)

// process is the state of a process.
type process struct {
	seen     uint16 // values that its key had since a read of one key began, a bit each
	pc       pc
	attempt  uint8
	round    uint8
	waits    uint8 // replies that it waits for
	side     uint8 // 1: the attempt takes keys in their second homes
	nonces   [Keys]nonce
	bases    [Keys]int8
	met      nonce // the seal in its way
	metKey   uint8
	refused  bool  // by the marker of a move
	brings   bool  // its keys to their second homes
	watching uint8 // 1: its key is as WATCH found it; 2: it has changed
	answered outcome
	stored   uint8 // how often its values were stored
	dead     bool
}

type state struct {
	registers [Keys + moved]register
	records   [maxProcesses*maxAttempts + 1]record
	processes [maxProcesses]process
	messages  [maxMessages]message
	inFlight  uint8
	giveUps   uint8
	repeats   uint8
	deaths    uint8
	failovers uint8

	// truth is the value of each key by the order of the decisions and commits.
	truth [Keys]int8

	replica struct {
		register register
		records  [maxProcesses*maxAttempts + 1]record
	}
}
