package torture

import (
	"sync"
	"time"
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
	began time.Time

	mu    sync.Mutex
	ops   []Operation
	notes []Note
}

// Note is what a nemesis has done.
type Note struct {
	At   time.Duration
	Text string
}

func newHistory() *History { return &History{began: time.Now()} }

func (h *History) now() time.Duration { return time.Since(h.began) }

func (h *History) add(op Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
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
