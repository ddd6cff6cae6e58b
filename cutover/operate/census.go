package operate

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/unwatch/unwatch/cutover/internal/names"
	"github.com/unwatch/unwatch/rmw"
)

// Process is the latest heartbeat of a process.
type Process struct {
	// Name has the host and the process ID.
	Name string `json:"name"`
	// Epoch of the stage in force.
	Epoch uint64 `json:"epoch"`
	// Build is the version of the program's main module, as go version -m prints it.
	Build string `json:"build,omitempty"`
	// At is the time of the heartbeat, by the clock of its process.
	At time.Time `json:"at"`
	// Error says why the process cannot read the stage somewhere.
	Error string `json:"error,omitempty"`
	// Pause has the moves of the process since its start: see cutover.Config.Heartbeat. A move that another
	// process completed is not in it.
	Pause Pause `json:"pause,omitzero"`
	// Sweep is the Sweep that the process runs at the time At, if any.
	Sweep *Progress `json:"sweep,omitempty"`
}

// Progress is the Pass of a Sweep that still runs. Its Keys have counts and no names.
type Progress struct {
	// Began is the start of the Sweep, by the clock of its process.
	Began time.Time
	Pass
}

// Census returns the processes that send heartbeats, ordered by name, and those that have stopped
// without a Close in the last two minutes.
func Census(ctx context.Context, name string, old rmw.Reader) ([]Process, error) {
	key, err := names.Census(name)
	if err != nil {
		return nil, err
	}
	v, err := old.Read(ctx, key)
	if err != nil {
		return nil, err
	}
	var processes []Process
	for process, heartbeat := range v.All() {
		var p Process
		if err := json.Unmarshal([]byte(heartbeat), &p); err != nil {
			p.Error = "the heartbeat cannot be decoded"
		}
		p.Name = process
		processes = append(processes, p)
	}
	slices.SortFunc(processes, func(a, b Process) int { return cmp.Compare(a.Name, b.Name) })
	return processes, nil
}
