package worker

import "time"

// Argument is the command line argument that makes the program a child.
const Argument = "worker"

// Job is the task of a child. One field is set.
type Job struct {
	Update *UpdateJob `json:"update,omitempty"`
	Hold   *HoldJob   `json:"hold,omitempty"`
	Relay  *RelayJob  `json:"relay,omitempty"`
}

// Ready reports that the child is prepared.
type Ready struct {
	Addr    string `json:"addr,omitempty"`    // of a relay
	Refused string `json:"refused,omitempty"` // reason why the implementation does not work here
}

// Answer is the result of a Job.
type Answer struct {
	Update *UpdateResult `json:"update,omitempty"`
	Hold   *HoldResult   `json:"hold,omitempty"`
	Err    string        `json:"err,omitempty"`
}

// RelayJob runs a relay until stdin ends.
type RelayJob struct {
	Target string        `json:"target"`
	Delay  time.Duration `json:"delay_ns"`
}

// Usage has the resources that a process used.
type Usage struct {
	CPU        time.Duration `json:"cpu_ns"`
	Allocs     uint64        `json:"allocs"`
	AllocBytes uint64        `json:"alloc_bytes"`
}

// Sub returns the usage since before.
func (u Usage) Sub(before Usage) Usage {
	return Usage{u.CPU - before.CPU, u.Allocs - before.Allocs, u.AllocBytes - before.AllocBytes}
}

// Add returns the sum of two usages.
func (u Usage) Add(o Usage) Usage {
	return Usage{u.CPU + o.CPU, u.Allocs + o.Allocs, u.AllocBytes + o.AllocBytes}
}
