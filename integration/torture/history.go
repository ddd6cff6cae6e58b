package torture

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Outcome is what an update said of itself.
type Outcome uint8

// The outcomes.
const (
	Unknown      Outcome = iota // rmw.ErrOutcomeUnknown, or nobody has been told
	Acknowledged                // no error
	NotWritten                  // any other error
)

// Operation is one update, or one read.
type Operation struct {
	Process int    // who: the processes of a fleet are numbered, and those of each worker
	Key     string //
	ID      string // that the update adds; "": a read
	Outcome Outcome
	Seen    []string      // what the last call of fn was given, or what was read
	Call    time.Duration // since the cell began
	Return  time.Duration
	Err     string
}

// History is what a fleet has done.
type History struct {
	began time.Duration // of the machine's clock, which all processes read alike

	mu    sync.Mutex
	ops   []Operation
	notes []Note
	sink  func(op Operation) // takes the operations instead; nil: nobody
}

// Note is what a nemesis has done.
type Note struct {
	At   time.Duration
	Text string
}

func newHistory() *History { return &History{began: monotonic()} }

func (h *History) now() time.Duration { return monotonic() - h.began }

// monotonic is a clock that nobody sets, and that is one for all processes.
func monotonic() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // it is there on every system that has the servers
	}
	return time.Duration(t.Nano())
}

func (h *History) add(op Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sink != nil {
		h.sink(op)
		return
	}
	h.ops = append(h.ops, op)
}

func (h *History) note(text string) {
	at := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes = append(h.notes, Note{at, text})
}

// byKey are the operations of each key.
func (h *History) byKey() map[string][]Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	keys := map[string][]Operation{}
	for _, op := range h.ops {
		keys[op.Key] = append(keys[op.Key], op)
	}
	return keys
}
