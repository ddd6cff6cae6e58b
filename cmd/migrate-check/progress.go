package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// How long somebody likes to wait without a word. Who reads a log later wants to know of a
// build that takes minutes, as the first one does, when the go command compiles all that is
// imported; not of each step.
const (
	patienceOnTerminal = time.Second
	patienceInLog      = 20 * time.Second
)

// progress says what is being done: once patience is at an end, and again whenever it has
// come to an end since.
type progress struct {
	mu       sync.Mutex
	w        io.Writer
	began    time.Time
	patience time.Duration
	what     string
	timer    *time.Timer // nil: nothing is being done
	ended    bool
}

// newProgress begins. It is for several goroutines; w is written to by one at a time.
func newProgress(w io.Writer) *progress {
	p := &progress{w: w, began: time.Now(), patience: patienceInLog}
	if isTerminal(w) {
		p.patience = patienceOnTerminal
	}
	return p
}

// say notes what is being done from now on.
func (p *progress) say(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = what
	switch {
	case p.ended:
	case p.timer == nil:
		p.timer = time.AfterFunc(p.patience, p.tell)
	case time.Since(p.began) > patienceInLog || p.patience == patienceOnTerminal && time.Since(p.began) > p.patience:
		p.print()
	}
}

// tell is called by the timer.
func (p *progress) tell() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.print()
	p.timer.Reset(patienceInLog)
}

func (p *progress) print() {
	say(p.w, "%s", wrapped(fmt.Sprintf("%.0f s: %s", time.Since(p.began).Seconds(), p.what)))
}

// end says nothing more.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.timer != nil {
		p.timer.Stop()
	}
}
