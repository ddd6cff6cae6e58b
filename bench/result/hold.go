package result

import (
	"math"
	"time"

	"github.com/unwatch/unwatch/bench/worker"
)

// Hold is one way to keep many locks, once.
type Hold struct {
	Scenario     string            `json:"scenario"`
	Impl         string            `json:"impl"`
	Repetition   int               `json:"repetition"`
	Crashed      string            `json:"crashed,omitempty"`
	Worker       worker.HoldResult `json:"worker"`
	Took         time.Duration     `json:"took_ns"` // that the server was watched
	Server       Server            `json:"server"`
	Lost         int64             `json:"lost"` // locks whose key was gone at the end
	ForeignCores float64           `json:"foreign_cores"`
}

// HoldsOf returns what a keeper did in a scenario.
func (f *File) HoldsOf(scenario, impl string) []*Hold {
	var holds []*Hold
	for i := range f.Holds {
		if h := &f.Holds[i]; h.Scenario == scenario && h.Impl == impl && h.Crashed == "" {
			holds = append(holds, h)
		}
	}
	return holds
}

// ClientShare is the client's CPU time, as a share of a core.
func (h *Hold) ClientShare() float64 { return h.Worker.Usage.CPU.Seconds() / h.Worker.Took.Seconds() }

// RedisShare is Redis' CPU time, as a share of a core.
func (h *Hold) RedisShare() float64 { return h.Server.CPU.Seconds() / h.Took.Seconds() }

// Renewals is how many renewals Redis made in a second.
func (h *Hold) Renewals() float64 {
	return float64(h.Server.Calls["pexpire"]+h.Server.Calls["pexpireat"]) / h.Took.Seconds()
}

// Flights is how often in a second Redis read from a socket.
func (h *Hold) Flights() float64 { return float64(h.Server.Reads) / h.Took.Seconds() }

// Megabytes is the memory that the keeper has taken.
func (h *Hold) Megabytes() float64 { return float64(h.Worker.Memory) / 1e6 }

// Watch is how much of it is the watchdog's; NaN if that is not known.
func (h *Hold) Watch() float64 {
	if h.Worker.Watch == 0 {
		return math.NaN()
	}
	return float64(h.Worker.Watch) / 1e6
}

// Latest is how late the latest renewal was, in milliseconds.
func (h *Hold) Latest() float64 { return Milli(h.Worker.Late.Max) }
