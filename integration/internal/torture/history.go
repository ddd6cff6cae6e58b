package torture

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Outcome is the result of an update, as reported to its caller.
type Outcome uint8

// The outcomes.
const (
	Unknown      Outcome = iota // rmw.ErrOutcomeUnknown, or no report
	Acknowledged                // no error
	NotWritten                  // any other error
)

// Operation is one update or one read.
type Operation struct {
	Process int // the number of the process and worker
	Key     string
	ID      string // added by the update; "": a read
	Outcome Outcome
	Seen    []string      // the input of the last call of fn, or the result of a read
	Call    time.Duration // since the start of the cell
	Return  time.Duration
	Err     string
}

// History records the operations of a fleet.
type History struct {
	began time.Duration // by the clock of the machine, which all processes share

	mu        sync.Mutex
	ops       []Operation
	sections  []Section
	decisions []Decision
	joints    []Joint
	services  int // completed steps at the desk
	notes     []Note
	sink      func(s said) // receives everything instead; nil: no receiver
}

// Note is a fault that a nemesis injected.
type Note struct {
	At   time.Duration
	Text string
}

func newHistory() *History { return &History{began: monotonic()} }

func (h *History) now() time.Duration { return monotonic() - h.began }

// monotonic reads a clock that never steps and is the same for all processes.
func monotonic() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // every system with the servers has it
	}
	return time.Duration(t.Nano())
}

func (h *History) add(op Operation) { h.take(said{Op: &op}) }

func (h *History) note(text string) { h.take(said{Note: &Note{h.now(), text}}) }

// said is one message of a process.
type said struct {
	Begin    bool       `json:",omitempty"` // the operation begins; without another message its outcome is unknown
	Op       *Operation `json:",omitempty"`
	Section  *Section   `json:",omitempty"`
	Decision *Decision  `json:",omitempty"`
	Joint    *Joint     `json:",omitempty"`
	Served   bool       `json:",omitempty"`
	Note     *Note      `json:",omitempty"`
}

// take records a message.
func (h *History) take(s said) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.sink != nil:
		h.sink(s)
	case s.Op != nil:
		h.ops = append(h.ops, *s.Op)
	case s.Section != nil:
		h.sections = append(h.sections, *s.Section)
	case s.Decision != nil:
		h.decisions = append(h.decisions, *s.Decision)
	case s.Joint != nil:
		h.joints = append(h.joints, *s.Joint)
	case s.Served:
		h.services++
	case s.Note != nil:
		h.notes = append(h.notes, *s.Note)
	}
}

// byKey returns the operations of each key.
func (h *History) byKey() map[string][]Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	keys := map[string][]Operation{}
	for _, op := range h.ops {
		keys[op.Key] = append(keys[op.Key], op)
	}
	return keys
}
