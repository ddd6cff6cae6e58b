package result

import (
	"math"
	"time"

	"github.com/unwatch/unwatch/bench/internal/worker"
)

// Hold is one measurement of one keeper.
type Hold struct {
	Scenario     string
	Impl         string
	Crashed      string
	Worker       worker.HoldResult
	Took         time.Duration // measured time of the server
	Server       Server
	Lost         int64 // locks without a key at the end
	ForeignCores float64
}

// HoldsOf returns the results of a keeper in a scenario.
func (f *Results) HoldsOf(scenario, impl string) []*Hold {
	var holds []*Hold
	for i := range f.Holds {
		if h := &f.Holds[i]; h.Scenario == scenario && h.Impl == impl && h.Crashed == "" {
			holds = append(holds, h)
		}
	}
	return holds
}

// ClientShare returns the client's CPU time as a share of a core.
func (h *Hold) ClientShare() float64 { return h.Worker.Usage.CPU.Seconds() / h.Worker.Took.Seconds() }

// RedisShare returns the CPU time of Redis as a share of a core.
func (h *Hold) RedisShare() float64 { return h.Server.CPU.Seconds() / h.Took.Seconds() }

// Renewals returns the renewals per second on the server.
func (h *Hold) Renewals() float64 {
	return float64(h.Server.Calls["pexpire"]+h.Server.Calls["pexpireat"]) / h.Took.Seconds()
}

// Flights returns the socket reads per second of Redis.
func (h *Hold) Flights() float64 { return float64(h.Server.Reads) / h.Took.Seconds() }

// Megabytes returns the memory of the keeper.
func (h *Hold) Megabytes() float64 { return float64(h.Worker.Memory) / 1e6 }

// Watch returns the part of Megabytes for the watchdog, or NaN if it is unknown.
func (h *Hold) Watch() float64 {
	if h.Worker.Watch == 0 {
		return math.NaN()
	}
	return float64(h.Worker.Watch) / 1e6
}

// Latest returns the delay of the latest renewal in milliseconds.
func (h *Hold) Latest() float64 { return Milli(h.Worker.Late.Max()) }
