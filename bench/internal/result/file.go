package result

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/unwatch/unwatch/bench/internal/worker"
)

// File is the result of one run of the bench.
type File struct {
	Machine Machine   `json:"machine"`
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"`
	Command []string  `json:"command"`
	// RoundTrip is the median duration of a PING on each network.
	RoundTrip map[string]time.Duration `json:"round_trip_ns"`
	Slots     []Slot                   `json:"slots"`
	Holds     []Hold                   `json:"holds"`
}

// Machine describes the machine of the run.
type Machine struct {
	OS         string            `json:"os"`
	Arch       string            `json:"arch"`
	Kernel     string            `json:"kernel"`
	CPU        string            `json:"cpu"`
	Cores      int               `json:"cores"`
	Go         string            `json:"go"`
	Redis      string            `json:"redis"`
	Nutcracker string            `json:"nutcracker,omitempty"`
	Modules    map[string]string `json:"modules"`
}

// Slot is one measurement of one implementation in one scenario.
type Slot struct {
	Scenario   string        `json:"scenario"`
	Impl       string        `json:"impl"`
	Run        int           `json:"run"`
	Repetition int           `json:"repetition"`
	Length     time.Duration `json:"length_ns"`
	// Refused is the reason why the implementation does not work here. Then no field follows.
	Refused string `json:"refused,omitempty"`
	// Crashed is the output of a process that crashed.
	Crashed string                `json:"crashed,omitempty"`
	Workers []worker.UpdateResult `json:"workers,omitempty"`
	// Beside has the results of processes that updated the same keys by WATCH.
	Beside []worker.UpdateResult `json:"beside,omitempty"`
	Server Server                `json:"server"`
	// Stored is the sum of all counters after the slot.
	Stored int64 `json:"stored"`
	// ForeignCores is the number of cores that other processes used.
	ForeignCores float64 `json:"foreign_cores"`
}

// Server is the sum of the counters of all servers during a slot.
type Server struct {
	Calls map[string]int64 `json:"calls"` // by command, including calls within scripts
	Reads int64            `json:"reads"` // from sockets: the number of received flushes
	Bytes int64            `json:"bytes"` // both directions
	CPU   time.Duration    `json:"cpu_ns"`
}

// Write replaces the file atomically.
func (f *File) Write(name string) error {
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(name+".part", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(name+".part", name)
}

// Read reads a file of Write.
func Read(name string) (*File, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var f File
	return &f, json.Unmarshal(text, &f)
}
