package live

import (
	"encoding/json"
	"io"
	"time"

	"github.com/unwatch/unwatch/cmd/migrate-check/rules"
)

// Schema is what Report.Schema says. A change that a reader of the JSON would notice makes
// a new one.
const Schema = "unwatch-live/1"

// Verdict is what a report comes to.
type Verdict string

// The verdicts. A run that is not complete is Incomplete whatever it has found, as in a
// check of code: what it did not see may be worse.
const (
	Clean      Verdict = "clean"
	Findings   Verdict = "findings"
	Incomplete Verdict = "incomplete"
)

// ExitCode is that of the program: 0, 3 or 1.
func (v Verdict) ExitCode() int {
	switch v {
	case Clean:
		return 0
	case Findings:
		return 3
	}
	return 1
}

// Report is what was seen.
type Report struct {
	Schema  string    `json:"schema"`
	Verdict Verdict   `json:"verdict"`
	Summary string    `json:"summary"` // in one line
	Profile string    `json:"profile"`
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"`
	Wanted  float64   `json:"wanted_seconds"`

	Uses     int64 `json:"uses"`     // of what is refused: the sum over findings that count
	Commands int64 `json:"commands"` // all that was sent, but for our own
	Clients  int   `json:"clients"`  // different connections that were seen
	Own      int64 `json:"own"`      // commands that this look has sent

	Servers    []Server     `json:"servers"`
	Findings   []Finding    `json:"findings"`
	Attributed []Attributed `json:"attributed,omitempty"`
	Denied     []Denied     `json:"denied,omitempty"`
	Incomplete []string     `json:"incomplete,omitempty"` // why it is
	Unseen     []Unseen     `json:"unseen,omitempty"`
	Monitored  []Monitored  `json:"monitored,omitempty"`
	Notes      []string     `json:"notes,omitempty"`
}

// Server is one that was asked.
type Server struct {
	Addr     string  `json:"addr"`
	Version  string  `json:"version"` // of the Redis that it is compatible with
	Product  string  `json:"product"` // "Redis 7.0.15"
	Role     string  `json:"role"`
	Cluster  bool    `json:"cluster,omitempty"`
	Seconds  float64 `json:"seconds"` // from the first look to the last
	Looks    int     `json:"looks"`
	Lists    int     `json:"client_lists"`
	Commands int64   `json:"commands"`
	Clients  int     `json:"clients"`
}

// Finding is a command that was sent and that the proxy does not carry out.
type Finding struct {
	Rule     string          `json:"rule"`
	Severity rules.Severity  `json:"severity"`
	Command  string          `json:"command"`
	Stat                     // of the servers' own counts, over all of them
	Sampled  int64           `json:"sampled,omitempty"`    // seen by MONITOR, where that is what shows it
	Held     int             `json:"held,omitempty"`       // clients under its effect at one moment: subscribed, in MULTI, blocked
	InLua    int64           `json:"in_scripts,omitempty"` // lines of MONITOR that came from a script
	Servers  map[string]Stat `json:"servers,omitempty"`    // by address
	Why      string          `json:"why"`
	Instead  string          `json:"instead,omitempty"`
	Keys     []string        `json:"keys,omitempty"`     // patterns of keys that do not fit together
	Together int64           `json:"together,omitempty"` // lines of MONITOR whose keys do fit together
	From     []Seen          `json:"seen_from,omitempty"`
	Remark   string          `json:"remark,omitempty"`
	InCode   *int            `json:"in_code,omitempty"` // places that a check of code has found; see Join
}

// Counts reports whether it makes the verdict Findings.
func (f *Finding) Counts() bool { return counts(f.Severity) }

func counts(s rules.Severity) bool { return s != "" && s != rules.Note }

// Number is how often it was seen, by whatever has seen it.
func (f *Finding) Number() int64 { return max(f.Uses(), f.Sampled) }

// Attributed are uses that are no service's.
type Attributed struct {
	Server  string `json:"server"`
	Command string `json:"command"`
	Uses    int64  `json:"uses"`
	To      string `json:"to"`
}

// Monitored says how much MONITOR has seen of a server.
type Monitored struct {
	Server  string  `json:"server"`
	Lines   int     `json:"lines"`
	Cut     int     `json:"cut,omitempty"` // too long to be read whole
	Seconds float64 `json:"seconds"`
	Ended   string  `json:"ended"`
}

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}
