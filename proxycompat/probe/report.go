package probe

import (
	"slices"
	"time"

	"github.com/unwatch/unwatch/proxycompat"
)

// Report is what an address answered. The names of its fields in JSON stay.
type Report struct {
	Addr     string    `json:"addr"`
	At       time.Time `json:"at"`       // when it began
	TookMS   int64     `json:"tookMs"`   // how long it took, in milliseconds
	Sent     int       `json:"sent"`     // commands
	Dialled  int       `json:"dialled"`  // connections
	Server   Server    `json:"server"`   // behind the proxy
	Commands []Answer  `json:"commands"` // in the order asked

	// AllCommands: every command was asked that is asked of any address. If the budget
	// ended before that, or WritesSkipped, that nothing differs says little.
	AllCommands bool `json:"allCommands"`

	// Enough: at least half of those commands were answered in a way that says something
	// about the address. If not, no profile is named, and nothing else was asked.
	Enough bool `json:"enough"`

	// WritesSkipped says why no command was asked that writes, but SET with an expiry:
	// keys could be given none. Empty: they were asked.
	WritesSkipped string `json:"writesSkipped,omitempty"`

	// Likeness has all known profiles, the most like first; none if not Enough.
	Likeness []Likeness `json:"likeness"`

	// Base is the profile that Differences are from, as proxycompat.Lookup takes it:
	// the given one, or the most like. Empty if not Enough.
	Base        string       `json:"base"`
	Differences []Difference `json:"differences"`

	Ordering      Ordering      `json:"ordering"`
	Reads         Reads         `json:"reads"`
	Scripts       Scripts       `json:"scripts"`
	CompareAndSet CompareAndSet `json:"compareAndSet"`
	Transactions  Transactions  `json:"transactions"`
	Databases     Finding       `json:"databases"` // does SELECT 1 lead to another database?
	Limits        Limits        `json:"limits"`

	// ClosesAfterErrors: connections were closed some time after an error was answered,
	// as by Codis with session_break_on_failure.
	ClosesAfterErrors bool `json:"closesAfterErrors"`

	// Unfinished says what was not asked because the budget ended; empty: nothing.
	Unfinished string `json:"unfinished,omitempty"`

	// Left is how many keys were not deleted, or may not have been. All but Lasting
	// expire within a minute.
	Left int `json:"left"`
	// Lasting is how many of those may stay for ever: that they expire was not acknowledged.
	Lasting int `json:"lasting"`
	// Prefix is how all keys began.
	Prefix string `json:"prefix"`

	// Given: the base is the profile that was expected, and not just the most like.
	Given bool `json:"given"`

	base *proxycompat.Profile
}

// Server is what is known of the server that stores the keys.
type Server struct {
	Product string `json:"product,omitempty"` // "redis", "valkey", "pika", …
	Version string `json:"version,omitempty"` // of Redis, or what it calls itself for clients of Redis
	Mode    string `json:"mode,omitempty"`    // "standalone", "cluster", "sentinel"
	By      string `json:"by,omitempty"`      // who answered: "INFO", or "EVAL", which a proxy cannot answer itself
}

// Finding is whether something works.
type Finding string

// The findings. The zero value means that it was not asked.
const (
	NotAsked    Finding = ""
	Works       Finding = "works"
	Refuses     Finding = "refused" // with an error
	Silent      Finding = "timeout" // no answer in time
	Disconnects Finding = "closes"  // the connection
	Ignored     Finding = "ignored" // answered OK, and without the effect
	// NoRight: the user of the connection may not do that, which says nothing about the
	// address.
	NoRight Finding = "forbidden"
	// TakenApart: MULTI was refused, and the commands after it were executed one by one.
	TakenApart Finding = "taken apart"
	Unclear    Finding = "unclear"
)

// Count is how often something happened.
type Count struct {
	Asked int `json:"asked"`
	Found int `json:"found"`
}

// Ordering is about pipelines of two commands: how many were not executed in the order
// in which they were sent. None found is no promise.
type Ordering struct {
	SameKey Count `json:"sameKey"` // SET k, and a script that reads k; GET k where scripts do not run
	TwoKeys Count `json:"twoKeys"` // SET {tag}a, and a script routed by {tag}b that reads {tag}a
}

// Reads is how many reads were old after a write that was answered: GET may be answered
// by a replica, EVAL is not. Those of large values, for Limits, are among them.
type Reads struct {
	Get  Count `json:"get"`
	Eval Count `json:"eval"`
}

// Scripts is what scripts can do.
type Scripts struct {
	Eval Finding `json:"eval"` // with one key
	// EvalSHA is EVALSHA for the key that an EVAL of the same script had before.
	EvalSHA Finding `json:"evalSha"`
	NoKey   Finding `json:"noKey"`
	OneTag  Finding `json:"oneTag"` // two keys of one tag
	// TwoSlots is about two keys of different slots. Ignored means that it ran, and that
	// the second key was not where the proxy looks for it.
	TwoSlots Finding `json:"twoSlots"`
	// HashTags: are keys of one tag together? Unclear if all keys are.
	HashTags Finding `json:"hashTags"`
	// Caches is how many servers had to be sent a script that another one already had;
	// an estimate from below of how many there are.
	Caches int `json:"caches"`
	Keys   int `json:"keys"` // that Caches was found with
}

// CompareAndSet is which commands of the server's own compare and set, in one step.
type CompareAndSet struct {
	SetIFEQ Finding `json:"setIfeq"` // SET k new IFEQ old: Redis 8.4, Valkey 8.1
	DelEX   Finding `json:"delex"`   // DELEX k IFEQ old: Redis 8.4
	DelIFEQ Finding `json:"delifeq"` // DELIFEQ k old: Valkey 9
	SetVX   Finding `json:"setVx"`   // SET k new VX old: Pika
	DelVX   Finding `json:"delvx"`   // DELVX k old: Pika
	CAS     Finding `json:"cas"`     // CAS k old new: Kvrocks, Tair
	CAD     Finding `json:"cad"`     // CAD k old: Kvrocks, Tair
}

// Transactions is what became of transactions.
type Transactions struct {
	Multi Finding `json:"multi"`
	// Watch: does EXEC do nothing once the watched key was changed?
	Watch Finding `json:"watch"`
}

// Limits is the largest that went through, and what came after it.
type Limits struct {
	Value       int    `json:"value"`       // bytes, of SET and GET
	ValueEnd    string `json:"valueEnd"`    // why not more; empty: more was not tried
	Pipeline    int    `json:"pipeline"`    // commands
	PipelineEnd string `json:"pipelineEnd"` // why not more; empty: more was not tried
}

// MostLike returns the name of the profile that the address is most like, without a
// version.
func (r *Report) MostLike() string {
	if len(r.Likeness) == 0 {
		return ""
	}
	return r.Likeness[0].Profile
}

// Lookup returns what to give to proxycompat.Lookup for the most like profile.
func (r *Report) Lookup() string {
	if len(r.Likeness) == 0 {
		return ""
	}
	return r.Likeness[0].Lookup
}

// Answer returns the answer to a command, and whether it was asked; the first one, if
// that was asked in several cases.
func (r *Report) Answer(command string) (Answer, bool) {
	for _, a := range r.Commands {
		if a.Command == command {
			return a, true
		}
	}
	return Answer{}, false
}

// Unanswered lists the commands that were not answered in time. They are no
// differences: it may have been the network, or a server.
func (r *Report) Unanswered() []string { return r.commandsWith(Timeout) }

// Lacking lists the commands that the user of the connection lacks the right for.
func (r *Report) Lacking() []string { return r.commandsWith(Forbidden) }

func (r *Report) commandsWith(outcome Outcome) []string {
	var out []string
	for _, a := range r.Commands {
		if a.Outcome == outcome && !slices.Contains(out, a.Command) {
			out = append(out, a.Command)
		}
	}
	return out
}
