// Package suite runs the clauses of a conformance suite: those of rmwtest for Stores and of locktest for
// Lockers.
package suite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Soon limits events that should be immediate: far above a round trip under the race detector.
const Soon = 4 * time.Second

// Check is one run of a clause. It collects the violations of the clause.
type Check struct {
	// Ctx ends when the clause has taken too long.
	Ctx context.Context

	helpers  sync.WaitGroup
	mu       sync.Mutex
	failures []string
}

// Run runs a clause for patience at most; 0 means a minute. It returns the violations, or nil.
// A panic counts as a violation. In a testing/synctest bubble Run never returns if a goroutine
// spins; see [Fake].
func Run(ctx context.Context, patience time.Duration, clause func(*Check)) error {
	if patience == 0 {
		patience = time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c := &Check{Ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer c.helpers.Wait()
		defer cancel() // so that waiting helpers end
		defer c.guard()
		clause(c)
	}()
	timer := time.NewTimer(patience + Soon)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		c.Errorf("still running %v after its ctx ended", Soon)
	}
	return c.result()
}

// Errorf records a violation.
func (c *Check) Errorf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures = append(c.failures, fmt.Sprintf(format, args...))
}

// Violations returns the number of recorded violations.
func (c *Check) Violations() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.failures)
}

// Fatalf records a violation and ends the clause. Only the clause's own goroutine may call it.
func (c *Check) Fatalf(format string, args ...any) {
	c.Errorf(format, args...)
	runtime.Goexit()
}

// guard converts a panic to a violation. It is deferred.
func (c *Check) guard() {
	if p := recover(); p != nil {
		c.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// Go runs work on a goroutine that the clause waits for at its end.
func (c *Check) Go(work func()) (done <-chan struct{}) {
	ended := make(chan struct{})
	c.helpers.Go(func() {
		defer close(ended)
		defer c.guard()
		work()
	})
	return ended
}

// Pass lets d pass, or the ctx end.
func (c *Check) Pass(d time.Duration) { c.Within(d, c.Ctx.Done()) }

// Within waits for done, for d at most, and reports whether it came.
func (*Check) Within(d time.Duration, done <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

func (c *Check) result() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.failures) == 0 {
		return nil
	}
	const most = 5
	shown, more := c.failures, ""
	if len(shown) > most {
		more = fmt.Sprintf("\n… and %d more", len(shown)-most)
		shown = shown[:most]
	}
	return errors.New(strings.Join(shown, "\n") + more)
}

// fakeLimit limits the real time of a clause on fake time, which normally takes seconds.
const fakeLimit = 2 * time.Minute

// Fake runs a clause in a testing/synctest bubble.
//
// Fake time does not advance while a goroutine of the bubble runs, or waits for a sync.Mutex or the
// network. If a goroutine spins, no timer of the bubble fires, and nothing ends the goroutine. Fake
// therefore panics if the clause takes two minutes of real time, which ends the test binary. The panic
// names the clause and shows the goroutines of the bubble.
func Fake(t *testing.T, name string, clause func(t *testing.T)) {
	t.Helper()
	fake(t, name, clause, fakeLimit, func(message string) { panic(message) })
}

func fake(t *testing.T, name string, clause func(t *testing.T), limit time.Duration, stuck func(message string)) {
	t.Helper()
	watchdog := time.AfterFunc(limit, func() { // outside the bubble
		stuck(fmt.Sprintf("suite: clause %q is not over after %v of real time. Fake time stands still "+
			"while its subject spins, or waits for a sync.Mutex or the network. Its goroutines:\n\n%s", name, limit, bubble()))
	})
	defer watchdog.Stop()
	synctest.Test(t, clause)
}

// bubble returns the stacks of the goroutines in bubbles.
func bubble() string {
	buf := make([]byte, 1<<20)
	var stacks []string
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if head, _, _ := strings.Cut(stack, "\n"); strings.Contains(head, "synctest bubble") {
			stacks = append(stacks, stack)
		}
	}
	return strings.Join(stacks, "\n\n")
}
