package redisx

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// CloseLimit is how long Close waits for calls of the client that do not end.
const CloseLimit = 10 * time.Second

// Gate counts the running calls of a Store, refuses new ones after Close, and lets Close wait for the rest.
// Make it with NewGate.
type Gate struct {
	// Closing is closed by Close.
	Closing chan struct{}
	// GaveUp is closed when Close no longer waits. Then each wait for the client ends.
	GaveUp chan struct{}

	calls atomic.Int64 // that run
	fns   atomic.Int64 // functions of the user that run, and locks that the user holds

	mu      sync.Mutex
	closed  bool
	gaveUp  bool
	drained chan struct{} // closed after Close, when nothing runs any more
	quiet   time.Time     // when Close was called, or the last function after that has ended
	running sync.WaitGroup
}

// NewGate returns an open Gate.
func NewGate() *Gate { return &Gate{Closing: make(chan struct{}), GaveUp: make(chan struct{})} }

// Enter admits a call, which must Leave, or returns rmw.ErrClosed.
func (g *Gate) Enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return rmw.ErrClosed
	}
	g.running.Add(1)
	g.calls.Add(1)
	return nil
}

// Admit is Enter for a call about key, which must be usable, with a ctx that has
// not ended.
func (g *Gate) Admit(ctx context.Context, key rmw.Key) error {
	if err := key.Validate(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return g.Enter()
}

// Leave ends what Enter began.
func (g *Gate) Leave() {
	g.calls.Add(-1)
	g.running.Done()
}

// BeginFn tells that a function of the user runs, or that the user holds a lock: Close waits for its end without a
// limit. EndFn must follow.
func (g *Gate) BeginFn() { g.fns.Add(1) }

// EndFn ends what BeginFn began.
func (g *Gate) EndFn() {
	if g.fns.Add(-1) == 0 && g.Closed() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.quiet = time.Now()
	}
}

// Go runs work on a goroutine that Close waits for. Call it only between Enter and Leave, or from other
// work, so that it is never refused.
func (g *Gate) Go(work func()) { g.running.Go(work) }

// Closed reports whether Close was called.
func (g *Gate) Closed() bool {
	select {
	case <-g.Closing:
		return true
	default:
		return false
	}
}

// Open waits for d and reports whether the Gate is still open; it returns at once
// when it is closed.
func (g *Gate) Open(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-g.Closing:
		return false
	}
}

// Close refuses new calls and waits for all running ones. It may be called again.
//
// The client may never return from a call. So Close waits no longer than CloseLimit after the last
// function of the user has ended, and then returns an error. What it leaves behind ends with the client's calls.
func (g *Gate) Close() error {
	g.mu.Lock()
	if !g.closed {
		g.closed, g.quiet, g.drained = true, time.Now(), make(chan struct{})
		close(g.Closing)
		go func() {
			defer close(g.drained)
			g.running.Wait()
		}()
	}
	g.mu.Unlock()
	for g.left() > 0 {
		t := time.NewTimer(g.left())
		select {
		case <-g.drained:
			t.Stop()
			return nil
		case <-t.C:
		}
	}
	select {
	case <-g.drained:
		return nil
	default:
		return g.giveUp()
	}
}

// left is for how long Close waits. It is the whole limit while a function of the user runs.
func (g *Gate) left() time.Duration {
	if g.fns.Load() > 0 {
		return CloseLimit
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return CloseLimit - time.Since(g.quiet)
}

func (g *Gate) giveUp() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.gaveUp {
		g.gaveUp = true
		close(g.GaveUp)
	}
	return fmt.Errorf("Close waited %v for the client, which has not returned (calls: %d); "+
		"close the client, or set its timeouts", CloseLimit, g.calls.Load())
}

// GivenUp reports whether Close no longer waits.
func (g *Gate) GivenUp() bool {
	select {
	case <-g.GaveUp:
		return true
	default:
		return false
	}
}
