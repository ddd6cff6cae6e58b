package probe

import (
	"slices"
	"time"

	"github.com/unwatch/unwatch/proxycompat"
)

// Report is the result of a probe. The names of its JSON fields are stable.
type Report struct {
	Addr     string    `json:"addr"`
	At       time.Time `json:"at"`       // the start
	TookMS   int64     `json:"tookMs"`   // the duration in milliseconds
	Sent     int       `json:"sent"`     // commands
	Dialled  int       `json:"dialled"`  // connections
	Server   Server    `json:"server"`   // behind the proxy
	Commands []Answer  `json:"commands"` // in the order sent

	// AllCommands: every command of the battery was sent. It is false if the budget ended before, or if
	// WritesSkipped; then few differences prove little.
	AllCommands bool `json:"allCommands"`

	// Enough: at least half of those commands had a conclusive answer. If not, the report names no profile,
	// and the probe sent nothing else.
	Enough bool `json:"enough"`

	// WritesSkipped explains why SET with an expiry was the only write: PEXPIRE does not work. Empty: all
	// writes were sent.
	WritesSkipped string `json:"writesSkipped,omitempty"`

	// Likeness has all known profiles, most similar first; none if not Enough.
	Likeness []Likeness `json:"likeness"`

	// Base is the profile that Differences refer to, as proxycompat.Lookup takes it: the given one, or the
	// most similar. Empty if not Enough.
	Base        string       `json:"base"`
	Differences []Difference `json:"differences"`

	Ordering      Ordering      `json:"ordering"`
	Reads         Reads         `json:"reads"`
	Scripts       Scripts       `json:"scripts"`
	CompareAndSet CompareAndSet `json:"compareAndSet"`
	Transactions  Transactions  `json:"transactions"`
	Databases     Finding       `json:"databases"` // SELECT 1 selects another database
	Limits        Limits        `json:"limits"`

	// ClosesAfterErrors: connections were closed some time after an error reply, as by Codis with
	// session_break_on_failure.
	ClosesAfterErrors bool `json:"closesAfterErrors"`

	// Unfinished names the parts that did not fit into the budget; empty: none.
	Unfinished string `json:"unfinished,omitempty"`

	// Left counts the keys that may not have been deleted. All but Lasting expire within a minute.
	Left int `json:"left"`
	// Lasting counts the keys that may never expire: their expiry was not acknowledged.
	Lasting int `json:"lasting"`
	// Prefix is the prefix of all keys.
	Prefix string `json:"prefix"`

	// Given: the base is the expected profile, not the most similar one.
	Given bool `json:"given"`

	base *proxycompat.Profile
}

// Server describes the server that stores the keys.
type Server struct {
	Product string `json:"product,omitempty"` // "redis", "valkey", "pika", …
	Version string `json:"version,omitempty"` // of Redis, or its compatibility version
	Mode    string `json:"mode,omitempty"`    // "standalone", "cluster", "sentinel"
	By      string `json:"by,omitempty"`      // the source: "INFO", or "EVAL", which a proxy cannot answer itself

	// Limits are settings of the server that weaken the guarantees, as far as INFO shows them.
	Limits []string `json:"limits,omitempty"`
}

// Finding tells whether a feature works.
type Finding string

// The findings. The zero value means that the probe did not test the feature.
const (
	NotAsked    Finding = ""
	Works       Finding = "works"
	Refuses     Finding = "refused" // with an error
	Silent      Finding = "timeout" // no answer in time
	Disconnects Finding = "closes"  // the connection
	Ignored     Finding = "ignored" // answered OK without an effect
	// NoRight: the user lacks the permission, which does not concern the address.
	NoRight Finding = "forbidden"
	// TakenApart: MULTI was refused, and the commands after it were executed one by one.
	TakenApart Finding = "taken apart"
	Unclear    Finding = "unclear"
)

// Count counts occurrences.
type Count struct {
	Asked int `json:"asked"`
	Found int `json:"found"`
}

// Ordering counts pipelines of two commands that were executed in the wrong order. Zero proves nothing.
type Ordering struct {
	SameKey Count `json:"sameKey"` // SET k, and a script that reads k; GET k where scripts do not run
	TwoKeys Count `json:"twoKeys"` // SET {tag}a, and a script routed by {tag}b that reads {tag}a
}

// Reads counts stale reads after an acknowledged write: a replica may answer GET, but not EVAL. It includes
// the large values of Limits.
type Reads struct {
	Get  Count `json:"get"`
	Eval Count `json:"eval"`
}

// Scripts describes support for scripts.
type Scripts struct {
	Eval Finding `json:"eval"` // with one key
	// EvalSHA is EVALSHA for the key of an earlier EVAL of the same script.
	EvalSHA Finding `json:"evalSha"`
	NoKey   Finding `json:"noKey"`
	OneTag  Finding `json:"oneTag"` // two keys of one tag
	// TwoSlots is about two keys of different slots. Ignored means that the script ran, and that the proxy
	// does not find the second key.
	TwoSlots Finding `json:"twoSlots"`
	// HashTags tells whether keys with one tag are together. Unclear if all keys are.
	HashTags Finding `json:"hashTags"`
	// Caches counts the servers that lacked a script which another one had; a lower bound for the number of
	// servers.
	Caches int `json:"caches"`
	Keys   int `json:"keys"` // the number of keys used for Caches
}

// CompareAndSet lists the native commands that compare and set in one step.
type CompareAndSet struct {
	SetIFEQ Finding `json:"setIfeq"` // SET k new IFEQ old: Redis 8.4, Valkey 8.1
	DelEX   Finding `json:"delex"`   // DELEX k IFEQ old: Redis 8.4
	DelIFEQ Finding `json:"delifeq"` // DELIFEQ k old: Valkey 9
	SetVX   Finding `json:"setVx"`   // SET k new VX old: Pika
	DelVX   Finding `json:"delvx"`   // DELVX k old: Pika
	CAS     Finding `json:"cas"`     // CAS k old new: Kvrocks, Tair
	CAD     Finding `json:"cad"`     // CAD k old: Kvrocks, Tair
}

// Transactions describes support for transactions.
type Transactions struct {
	Multi Finding `json:"multi"`
	// Watch tells whether EXEC does nothing after a change of the watched key.
	Watch Finding `json:"watch"`
}

// Limits holds the largest successes, and the errors after them.
type Limits struct {
	Value       int    `json:"value"`       // bytes, of SET and GET
	ValueEnd    string `json:"valueEnd"`    // the error above Value; empty: more was not tried
	Pipeline    int    `json:"pipeline"`    // commands
	PipelineEnd string `json:"pipelineEnd"` // the error above Pipeline; empty: more was not tried
}

// MostLike returns the name of the most similar profile, without a version.
func (r *Report) MostLike() string {
	if len(r.Likeness) == 0 {
		return ""
	}
	return r.Likeness[0].Profile
}

// Lookup returns the most similar profile as proxycompat.Lookup takes it.
func (r *Report) Lookup() string {
	if len(r.Likeness) == 0 {
		return ""
	}
	return r.Likeness[0].Lookup
}

// Answer returns the answer to a command, and whether it was sent; if it was sent in several cases, the
// first answer.
func (r *Report) Answer(command string) (Answer, bool) {
	for _, a := range r.Commands {
		if a.Command == command {
			return a, true
		}
	}
	return Answer{}, false
}

// Unanswered lists the commands without an answer in time. They are no differences: the network or a server
// may be the cause.
func (r *Report) Unanswered() []string { return r.commandsWith(Timeout) }

// Lacking lists the commands that the user lacks the permission for.
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
