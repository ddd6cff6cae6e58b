package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// patience is the time without output. A terminal shows each slow step. A log shows only a
// build that takes minutes, as the first one does when the go command compiles all imports.
const (
	patienceOnTerminal = time.Second
	patienceInLog      = 20 * time.Second
)

// progress prints the current step whenever the patience has passed.
type progress struct {
	mu       sync.Mutex
	w        io.Writer
	began    time.Time
	patience time.Duration
	what     string
	timer    *time.Timer // nil between steps
	ended    bool
}

// newProgress returns a progress for concurrent use. It writes to w from one goroutine at a time.
func newProgress(w io.Writer) *progress {
	p := &progress{w: w, began: time.Now(), patience: patienceInLog}
	if isTerminal(w) {
		p.patience = patienceOnTerminal
	}
	return p
}

// say begins a step.
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

// end stops the output.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.timer != nil {
		p.timer.Stop()
	}
}
