package live

import (
	"io"
	"time"

	"github.com/unwatch/unwatch/internal/rules"
	"github.com/unwatch/unwatch/internal/wrap"
)

// Schema is the version of the JSON. An incompatible change has a new one.
const Schema = "unwatch-live/1"

// Verdict is the result of a run.
type Verdict string

// An incomplete run is Incomplete even with findings: the gap may hide worse ones.
const (
	Clean      Verdict = "clean"
	Findings   Verdict = "findings"
	Incomplete Verdict = "incomplete"
)

// ExitCode returns the exit code for a program: 0 clean, 3 findings, 1 incomplete.
func (v Verdict) ExitCode() int {
	switch v {
	case Clean:
		return 0
	case Findings:
		return 3
	}
	return 1
}

// Report is the result of Run.
type Report struct {
	Schema  string    `json:"schema"`
	Verdict Verdict   `json:"verdict"`
	Summary string    `json:"summary"` // in one line
	Profile string    `json:"profile"`
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"`
	Wanted  float64   `json:"wanted_seconds"`

	Uses     int64 `json:"uses"`     // of refused commands: the sum over findings that count
	Commands int64 `json:"commands"` // of all clients, without our own
	Clients  int   `json:"clients"`  // distinct connections
	Own      int64 `json:"own"`      // commands of this program

	Servers    []Server     `json:"servers"`
	Findings   []Finding    `json:"findings"`
	Attributed []Attributed `json:"attributed,omitempty"`
	Denied     []Denied     `json:"denied,omitempty"`
	Incomplete []string     `json:"incomplete,omitempty"` // the reasons
	Unseen     []Unseen     `json:"unseen,omitempty"`
	Monitored  []Monitored  `json:"monitored,omitempty"`
	Notes      []string     `json:"notes,omitempty"`
}

// Server is an observed server.
type Server struct {
	Addr     string  `json:"addr"`
	Version  string  `json:"version"` // of the compatible Redis
	Product  string  `json:"product"` // "Redis 7.0.15"
	Role     string  `json:"role"`
	Cluster  bool    `json:"cluster,omitempty"`
	Seconds  float64 `json:"seconds"` // from the first look to the last
	Looks    int     `json:"looks"`
	Lists    int     `json:"client_lists"`
	Commands int64   `json:"commands"`
	Clients  int     `json:"clients"`
}

// Finding is a command that clients have sent and that the proxy refuses.
type Finding struct {
	Rule     string          `json:"rule"`
	Severity rules.Severity  `json:"severity"`
	Command  string          `json:"command"`
	Stat                     // the servers' own counts, over all servers
	Sampled  int64           `json:"sampled,omitempty"`    // lines of MONITOR, if only MONITOR shows it
	Held     int             `json:"held,omitempty"`       // clients subscribed, in MULTI or blocked at one moment
	InLua    int64           `json:"in_scripts,omitempty"` // lines of MONITOR from scripts
	Servers  map[string]Stat `json:"servers,omitempty"`    // by address
	Why      string          `json:"why"`
	Instead  string          `json:"instead,omitempty"`
	Keys     []string        `json:"keys,omitempty"`     // patterns of incompatible keys
	Together int64           `json:"together,omitempty"` // lines of MONITOR with compatible keys
	From     []Seen          `json:"seen_from,omitempty"`
	Remark   string          `json:"remark,omitempty"`
	InCode   *int            `json:"in_code,omitempty"` // places in the checked code; see Join
}

// Counts reports whether the finding makes the verdict Findings.
func (f *Finding) Counts() bool { return counts(f.Severity) }

func counts(s rules.Severity) bool { return s != "" && s != rules.Note }

// Attributed counts uses by replication and sentinels.
type Attributed struct {
	Server  string `json:"server"`
	Command string `json:"command"`
	Uses    int64  `json:"uses"`
	To      string `json:"to"`
}

// Monitored describes the run of MONITOR on a server.
type Monitored struct {
	Server  string  `json:"server"`
	Lines   int     `json:"lines"`
	Cut     int     `json:"cut,omitempty"` // lines that were too long
	Seconds float64 `json:"seconds"`
	Ended   string  `json:"ended"`
	// Early says that MONITOR ended before its time, so that a command may have been missed.
	Early bool `json:"-"`

	clients map[string]Who // by address
}

// Client returns what CLIENT LIST has told of the client at an address, or else its host.
func (m Monitored) Client(addr string) Who {
	if who, known := m.clients[addr]; known {
		return who
	}
	return whoOf(Client{Addr: addr})
}

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	return wrap.WriteJSON(w, r)
}
