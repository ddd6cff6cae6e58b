// Package report holds the findings of a shadow: how often both paths were compared, where they
// differed, which calls were not compared and why, the latencies of both paths, and whether the
// evidence is enough for a cut-over.
//
// A [Report] is plain data. Its JSON has a version ([Schema]). [Merge] adds up the reports of
// many processes. [Report.Judge] returns a [Verdict]: ready, not ready because, or not enough
// data yet. A Report can be written as a page ([Report.WriteHTML]), as text for a terminal or a
// test's log ([Report.WriteText]), as metrics ([Report.WriteMetrics]), and as JSON.
//
// A Report holds no value of a user: the shadow redacts samples when it captures them. The
// shadow compares values before it redacts or shortens them.
package report

import (
	"time"
)

// Schema is the version of the JSON. A new field keeps the Schema. A field that is removed, or has
// another meaning, changes it.
const Schema = 2

// Report has the findings of one process, or, merged, of many.
type Report struct {
	Schema int    `json:"schema"`
	Name   string `json:"name"`            // Config.Name of the Store
	Build  string `json:"build,omitempty"` // of the program; a merged Report lists several with commas

	// Mode is the mode in effect: "off", "shadow", or "mixed" if the processes of a merged Report
	// do not agree.
	Mode    string  `json:"mode"`
	Percent float64 `json:"percent"` // share of the keys that are in the shadow
	// AA marks a calibration: the candidate is a second legacy path, so that every difference
	// is noise of the harness.
	AA bool `json:"aa,omitempty"`

	Started time.Time `json:"started"`
	Taken   time.Time `json:"taken"`

	Operations []Operation `json:"operations"` // by domain and name
	Health     Health      `json:"health"`
	Peak       Peak        `json:"peak"`
	Marks      []Mark      `json:"marks,omitempty"` // operators' switches
	Keys       []DirtyKey  `json:"keys,omitempty"`  // the keys that diverge most, the worst first
	Samples    []Sample    `json:"samples,omitempty"`
	Processes  []Process   `json:"processes"`

	// Policy is Config.Policy of the Store. Judge, and each Write method, use it in place of a zero Policy.
	Policy Policy `json:"configPolicy,omitzero"`

	// Calibration summarises the A/A run before this run; nil without one.
	Calibration *Calibration `json:"calibration,omitempty"`
}

// Comparator is a way to compare both paths. Each answers another question.
type Comparator string

const (
	// Seeded gives the candidate the input of the legacy path, on a scratch key: does it compute
	// and store the same?
	Seeded Comparator = "seeded"
	// Free lets the candidate run free on a scratch key, with all contention, and audits the
	// chain of its commits: is a commit lost, or applied twice?
	Free Comparator = "free"
)

// Comparators returns the comparators of calls, in the order of all tables.
func Comparators() []Comparator { return []Comparator{Seeded, Free} }

// Operation has the findings of one operation of one domain.
type Operation struct {
	Domain string    `json:"domain"` // rmw.Key.Label
	Name   string    `json:"name"`
	Since  time.Time `json:"since"` // start of its counts

	Tallies map[Comparator]Tally `json:"tallies"`
	// Outcomes counts the calls of the seeded comparator by the answer of the legacy path: "ok",
	// "no-op", "read", or the code of a refusal.
	Outcomes map[string]int64 `json:"outcomes,omitempty"`
	// Findings counts the differences by class and place.
	Findings []Finding `json:"findings,omitempty"`
	// Keys estimates the number of keys that were compared.
	Keys KeySketch `json:"keys,omitempty"`

	Legacy    Latency `json:"legacy"`    // of a call, or of one in eight, without its UpdateFunc
	Candidate Latency `json:"candidate"` // of the same call in the shadow, without the queue

	Audited   int64 `json:"audited,omitempty"`   // commits of the free run with a known place in the chain
	Contended int64 `json:"contended,omitempty"` // the audited commits that had to wait or to try again
}

// Tally accounts for the calls of an operation, for one Comparator. It adds up:
//
//	Eligible == Compared + all NotCompared + InFlight
//	Compared == all Classes
type Tally struct {
	Eligible    int64            `json:"eligible"` // sampled in
	Compared    int64            `json:"compared"`
	InFlight    int64            `json:"inFlight,omitempty"`
	NotCompared map[Reason]int64 `json:"notCompared,omitempty"`
	Classes     map[Class]int64  `json:"classes,omitempty"`
}

// Finding counts a kind of difference.
type Finding struct {
	Comparator Comparator `json:"comparator"`
	Class      Class      `json:"class"`
	// Path is the place in the document, as a template: members[].name, not members[17].name.
	// It is empty for a class without a place.
	Path  string    `json:"path,omitempty"`
	Count int64     `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

// Health describes both paths and the shadow itself.
type Health struct {
	Legacy    PathHealth `json:"legacy"`
	Candidate PathHealth `json:"candidate"`

	Breaker      string `json:"breaker"` // "closed", "half-open", "open"
	BreakerTrips int64  `json:"breakerTrips,omitempty"`
	Queue        int64  `json:"queue"`      // calls in the queue
	QueueBytes   int64  `json:"queueBytes"` // of those calls
	QueueMost    int64  `json:"queueMost"`  // the largest number of calls in the queue
	Panics       int64  `json:"panics,omitempty"`

	// Lag is the time from the end of a call to the end of its comparison. QueueWait is the part
	// of it until a worker took the call.
	Lag       Latency `json:"lag"`
	QueueWait Latency `json:"queueWait"`
	// LockWait is the candidate's wait for other writers, in the free run.
	LockWait Latency `json:"lockWait"`
}

// PathHealth counts the calls and the errors of a path.
type PathHealth struct {
	Calls  int64            `json:"calls"`
	Errors map[string]int64 `json:"errors,omitempty"` // by reason: "unavailable", "contended", …; refusals of fn are not errors
}

// Minute counts the comparisons of a minute.
type Minute struct {
	At          time.Time `json:"at"`
	Compared    int64     `json:"compared"`
	NotCompared int64     `json:"notCompared"`
	Dropped     int64     `json:"dropped,omitempty"` // calls of NotCompared that were dropped: see Reason.Drops
}

// Mark is a switch by an operator, or by the shadow.
type Mark struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
	Why  string    `json:"why,omitempty"`
}

// DirtyKey is a key that diverges.
type DirtyKey struct {
	Key    string    `json:"key"` // redacted
	Domain string    `json:"domain"`
	Count  int64     `json:"count"`
	Class  Class     `json:"class"` // of the first difference
	Path   string    `json:"path,omitempty"`
	First  time.Time `json:"first"`
	OpID   string    `json:"opId"` // of the first call that differed
}

// Sample is a call that differed. The shadow redacts it when it captures it.
type Sample struct {
	Comparator Comparator `json:"comparator"`
	Class      Class      `json:"class"`
	Domain     string     `json:"domain"`
	Operation  string     `json:"operation"`
	OpID       string     `json:"opId"`
	Key        string     `json:"key"` // redacted
	At         time.Time  `json:"at"`
	Process    string     `json:"process,omitempty"`

	Differences []Difference `json:"differences,omitempty"`
	More        int          `json:"more,omitempty"` // differences not listed

	// The answers of both paths, and the expiries that they left: a duration from At, "none", or
	// empty if unknown.
	Legacy          string `json:"legacy"`
	Candidate       string `json:"candidate"`
	LegacyExpiry    string `json:"legacyExpiry,omitempty"`
	CandidateExpiry string `json:"candidateExpiry,omitempty"`

	// Explain is a sentence on the meaning of the sample.
	Explain string `json:"explain"`
}

// Difference is a place where two documents differ. The values are redacted, each to a
// token: equal tokens are equal values.
type Difference struct {
	Path      string `json:"path"`
	Legacy    string `json:"legacy"`
	Candidate string `json:"candidate"`
}

// Process is a process of the fleet.
type Process struct {
	Name    string    `json:"name"`
	Build   string    `json:"build,omitempty"`
	Asked   string    `json:"asked"`  // the mode that an operator has set
	Mode    string    `json:"mode"`   // the mode in effect
	Reason  string    `json:"reason"` // why Asked and Mode differ, or empty
	Percent float64   `json:"percent"`
	Seen    time.Time `json:"seen"`
	Queue   int64     `json:"queue"`
	Breaker string    `json:"breaker"`
}

// Calibration summarises an A/A run.
type Calibration struct {
	Taken    time.Time `json:"taken"`
	Compared int64     `json:"compared"`
	Blocking int64     `json:"blocking"` // findings that would block in another run: noise
}
