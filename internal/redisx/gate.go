package redisx

import (
	"context"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Gate counts the running calls of a Store, refuses new ones after Close, and lets Close wait for the rest.
// Make it with NewGate.
type Gate struct {
	// Closing is closed by Close.
	Closing chan struct{}

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// NewGate returns an open Gate.
func NewGate() *Gate { return &Gate{Closing: make(chan struct{})} }

// Enter admits a call, which must Leave, or returns rmw.ErrClosed.
func (g *Gate) Enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return rmw.ErrClosed
	}
	g.running.Add(1)
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
func (g *Gate) Leave() { g.running.Done() }

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
func (g *Gate) Close() {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		close(g.Closing)
	}
	g.mu.Unlock()
	g.running.Wait()
}
