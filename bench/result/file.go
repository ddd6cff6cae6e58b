package result

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/unwatch/unwatch/bench/worker"
)

// File is the result of one run of the bench.
type File struct {
	Machine Machine   `json:"machine"`
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"`
	Command []string  `json:"command"`
	// RoundTrip is what a PING takes on each network, in the median.
	RoundTrip map[string]time.Duration `json:"round_trip_ns"`
	Slots     []Slot                   `json:"slots"`
	Holds     []Hold                   `json:"holds"`
}

// Machine is where it ran.
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

// Slot is one implementation in one scenario, once.
type Slot struct {
	Scenario   string        `json:"scenario"`
	Impl       string        `json:"impl"`
	Run        int           `json:"run"`
	Repetition int           `json:"repetition"`
	Length     time.Duration `json:"length_ns"`
	// Refused is why it does not work here; then there is nothing else.
	Refused string `json:"refused,omitempty"`
	// Crashed is how its process ended, if it did.
	Crashed string                `json:"crashed,omitempty"`
	Workers []worker.UpdateResult `json:"workers,omitempty"`
	// Beside is what processes did that updated the same keys by WATCH.
	Beside []worker.UpdateResult `json:"beside,omitempty"`
	Server Server                `json:"server"`
	// Stored is the sum of all counters after the slot.
	Stored int64 `json:"stored"`
	// ForeignCores is how much of the machine others used meanwhile.
	ForeignCores float64 `json:"foreign_cores"`
}

// Server is what the servers counted during a slot, all of them together.
type Server struct {
	Calls map[string]int64 `json:"calls"` // by command, those within scripts included
	Reads int64            `json:"reads"` // from sockets: how many flights arrived
	Bytes int64            `json:"bytes"` // both directions
	CPU   time.Duration    `json:"cpu_ns"`
}

// Write stores the file whole or not at all.
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

// Read reads a file.
func Read(name string) (*File, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var f File
	return &f, json.Unmarshal(text, &f)
}
