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

	mu        sync.Mutex
	ops       []Operation
	sections  []Section
	decisions []Decision
	services  int // steps at the desk that were carried out
	notes     []Note
	sink      func(s said) // takes everything but notes instead; nil: nobody
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

func (h *History) add(op Operation) { h.take(said{Op: &op}) }

func (h *History) addSection(s Section) { h.take(said{Section: &s}) }

func (h *History) decide(d Decision) { h.take(said{Decision: &d}) }

func (h *History) served() { h.take(said{Served: true}) }

// said is one thing that a process has to say.
type said struct {
	Begin    bool       `json:",omitempty"` // the operation begins; of one of which no more is heard nobody knows how it ended
	Op       *Operation `json:",omitempty"`
	Section  *Section   `json:",omitempty"`
	Decision *Decision  `json:",omitempty"`
	Served   bool       `json:",omitempty"`
	Stepped  *stepped   `json:",omitempty"` // not for the history
}

// take writes down what was said.
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
	case s.Served:
		h.services++
	}
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
