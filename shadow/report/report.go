package report

import "time"

// Schema is the version of a Report as JSON. A field more is the same Schema; a field
// that goes, or means something else, is a new one.
const Schema = 1

// Report is what one process has found, or, merged, what many have.
type Report struct {
	Schema int    `json:"schema"`
	Name   string `json:"name"`            // what is shadowed, as its owner calls it
	Build  string `json:"build,omitempty"` // of the program; several are listed with commas

	// Mode is what is in effect: "off", "shadow" (legacy serves), "reverse" (the candidate
	// serves), or "mixed" if the processes of a merged Report do not agree.
	Mode    string  `json:"mode"`
	Percent float64 `json:"percent"` // of the keys, that are in the shadow
	// AA is a calibration: the candidate is a second legacy path, so that whatever differs
	// is the harness's own noise.
	AA bool `json:"aa,omitempty"`

	Started time.Time `json:"started"`
	Taken   time.Time `json:"taken"`

	Operations []Operation `json:"operations"` // by domain and name
	Verify     Verify      `json:"verify"`
	Health     Health      `json:"health"`
	Timeline   []Minute    `json:"timeline,omitempty"` // oldest first
	Peak       Peak        `json:"peak"`
	Marks      []Mark      `json:"marks,omitempty"` // what was switched, and when
	Keys       []DirtyKey  `json:"keys,omitempty"`  // that diverge most, the worst first
	Samples    []Sample    `json:"samples,omitempty"`
	Processes  []Process   `json:"processes"`

	// Calibration sums up the A/A run that this one relies on; nil if there was none.
	Calibration *Calibration `json:"calibration,omitempty"`
}

// Comparator is a way to compare both paths. They answer different questions, and none
// answers those of another.
type Comparator string

const (
	// Seeded gives the candidate the very input that the legacy path had, on a scratch
	// key: does it compute and store the same?
	Seeded Comparator = "seeded"
	// Lockstep applies each call to the candidate's own key, in the order of the legacy
	// path: do both stores stay the same?
	Lockstep Comparator = "lockstep"
	// Free lets the candidate run free on a scratch key, with all the contention there
	// is, and audits the chain of its commits: is any of them lost, or applied twice?
	Free Comparator = "free"
	// Verifier compares both stores while nobody changes them. It looks at keys, not at
	// calls, and so has findings and samples, but no tally.
	Verifier Comparator = "verifier"
)

// Comparators returns those that compare calls, in the order in which they are shown.
func Comparators() []Comparator { return []Comparator{Seeded, Lockstep, Free} }

// Operation is what was found of one operation of one domain.
type Operation struct {
	Domain string    `json:"domain"` // rmw.Key.Label
	Name   string    `json:"name"`
	Since  time.Time `json:"since"` // when its counting began (anew)

	Tallies map[Comparator]Tally `json:"tallies"`
	// Outcomes counts the calls compared, seeded, by what the legacy path answered: "ok",
	// "no-op", "read", or the code of a refusal.
	Outcomes map[string]int64 `json:"outcomes,omitempty"`
	// Findings counts what differed, by class and by where.
	Findings []Finding `json:"findings,omitempty"`
	// Keys tells about how many keys were compared.
	Keys KeySketch `json:"keys,omitempty"`

	Legacy    Latency `json:"legacy"`    // of a call, or of one in eight, less what its UpdateFunc took: the path's own
	Candidate Latency `json:"candidate"` // of the same call in the shadow, without the queue

	Audited   int64 `json:"audited,omitempty"`   // commits of the free run whose place in the chain is known
	Contended int64 `json:"contended,omitempty"` // of those, how many had to wait or to try again
}

// Tally says where the calls of an operation went, for one Comparator. It adds up:
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

// Finding is a kind of difference, and how often it was seen.
type Finding struct {
	Comparator Comparator `json:"comparator"`
	Class      Class      `json:"class"`
	// Path is where in the document, as a template: members[].name, not members[17].name.
	// It is empty where a place makes no sense.
	Path  string    `json:"path,omitempty"`
	Count int64     `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

// Verify is what the quiescent verifier found: it compares the keys of both stores while
// nobody changes them, in both directions.
type Verify struct {
	Rounds   int             `json:"rounds"`
	Last     time.Time       `json:"last,omitzero"`      // when the last round ended
	Touched  int64           `json:"touched"`            // keys in the registry
	Checked  int64           `json:"checked"`            // of those, in the last round
	Equal    int64           `json:"equal"`              // of those, equal, with their expiry
	Pending  int64           `json:"pending,omitempty"`  // differed, to be looked at again
	Unknown  int64           `json:"unknown,omitempty"`  // could not be read, or moved all the time
	Untimed  int64           `json:"untimed,omitempty"`  // equal, but a store cannot tell expiries
	Evicted  int64           `json:"evicted,omitempty"`  // keys that the registry had no room for, before they were verified
	Settled  int             `json:"settled"`            // rounds in a row in which all keys were equal
	Findings map[Class]int64 `json:"findings,omitempty"` // confirmed, since the start
}

// Health is how the paths and the shadow itself did.
type Health struct {
	Legacy    PathHealth `json:"legacy"`
	Candidate PathHealth `json:"candidate"`

	Breaker      string           `json:"breaker"` // "closed", "half-open", "open"
	BreakerTrips int64            `json:"breakerTrips,omitempty"`
	Queue        int64            `json:"queue"`      // calls that wait
	QueueBytes   int64            `json:"queueBytes"` // which they hold
	QueueMost    int64            `json:"queueMost"`  // calls that waited at once
	Panics       int64            `json:"panics,omitempty"`
	Resyncs      map[string]int64 `json:"resyncs,omitempty"` // by cause

	// Lag is from the call's end to its comparison's, QueueWait the part of it until a
	// worker took it.
	Lag       Latency `json:"lag"`
	QueueWait Latency `json:"queueWait"`
	// LockWait is how long the candidate waited for other writers, in the free run.
	LockWait Latency `json:"lockWait"`
}

// PathHealth counts a path's calls and what kept it from answering them.
type PathHealth struct {
	Calls  int64            `json:"calls"`
	Errors map[string]int64 `json:"errors,omitempty"` // by reason: "unavailable", "contended", …; refusals of fn are not errors
}

// Minute is a point of the timeline.
type Minute struct {
	At          time.Time `json:"at"`
	Compared    int64     `json:"compared"`
	NotCompared int64     `json:"notCompared"`
	Dropped     int64     `json:"dropped,omitempty"` // of those, for want of room, rate, time or a living candidate
	Diverged    int64     `json:"diverged"`          // blocking classes only
}

// Mark is something that was switched.
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
	Class  Class     `json:"class"` // of the first
	Path   string    `json:"path,omitempty"`
	First  time.Time `json:"first"`
	OpID   string    `json:"opId"` // of the call that was the first
}

// Sample is one call that differed, redacted when it was captured.
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

	// What each path answered, and what expiry it left: a duration from then, "none", or
	// empty if unknown.
	Legacy          string `json:"legacy"`
	Candidate       string `json:"candidate"`
	LegacyExpiry    string `json:"legacyExpiry,omitempty"`
	CandidateExpiry string `json:"candidateExpiry,omitempty"`

	// Explain says in a sentence what this means.
	Explain string `json:"explain"`
}

// Difference is a place where two documents differ. The values are redacted, each to a
// token: equal tokens are equal values.
type Difference struct {
	Path      string `json:"path"`
	Legacy    string `json:"legacy"`
	Candidate string `json:"candidate"`
}

// Process is one of the fleet.
type Process struct {
	Name    string    `json:"name"`
	Build   string    `json:"build,omitempty"`
	Asked   string    `json:"asked"`  // the mode somebody asked for
	Mode    string    `json:"mode"`   // what is in effect
	Reason  string    `json:"reason"` // why these differ; empty if they do not
	Percent float64   `json:"percent"`
	Seen    time.Time `json:"seen"`
	Queue   int64     `json:"queue"`
	Breaker string    `json:"breaker"`
}

// Calibration sums up an A/A run.
type Calibration struct {
	Taken    time.Time `json:"taken"`
	Compared int64     `json:"compared"`
	Blocking int64     `json:"blocking"` // findings that would have blocked: noise
}
