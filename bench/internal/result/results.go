package result

import (
	"time"

	"github.com/unwatch/unwatch/bench/internal/worker"
)

// Results are all measurements of one run of the bench.
type Results struct {
	Machine Machine
	Began   time.Time
	Ended   time.Time
	// RoundTrip is the median duration of a PING on each network.
	RoundTrip map[string]time.Duration
	Slots     []Slot
	Holds     []Hold
}

// Machine describes the machine of the run.
type Machine struct {
	OS         string
	Arch       string
	Kernel     string
	CPU        string
	Cores      int
	Go         string
	Redis      string
	Nutcracker string
	Peers      []string // modules with their versions
}

// Slot is one measurement of one implementation in one scenario.
type Slot struct {
	Scenario string
	Impl     string
	Run      int
	Length   time.Duration
	// Refused is the reason why the implementation does not work here. Then no field follows.
	Refused string
	// Crashed is the output of a process that crashed.
	Crashed string
	Workers []worker.UpdateResult
	// Beside has the results of processes that updated the same keys by WATCH.
	Beside []worker.UpdateResult
	Server Server
	// Stored is the sum of all counters after the slot.
	Stored int64
	// ForeignCores is the number of cores that other processes used.
	ForeignCores float64
}

// Server is the sum of the counters of all servers during a slot.
type Server struct {
	Calls map[string]int64 // by command, including calls within scripts
	Reads int64            // from sockets: the number of received flushes
	Bytes int64            // both directions
	CPU   time.Duration
}
