package locktest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unwatch/unwatch/lock"
)

// Clause is one rule that a Locker keeps, and the test of it.
type Clause struct {
	// Name is short and stable: the subtest's name.
	Name string
	// Says is the rule, as one sentence.
	Says string

	needs []func(Target) string
	run   func(c *check)
}

// Clauses returns all of them in reading order.
func Clauses() []Clause {
	return slices.Concat(basicClauses(), callerClauses(), waitClauses(), nestedClauses(), lostClauses(), tokenClauses())
}

// Missing returns what target would have to declare for the clause to be checked
// on it, or "".
func (c Clause) Missing(target Target) string {
	var missing []string
	for _, need := range c.needs {
		if m := need(target); m != "" {
			missing = append(missing, m)
		}
	}
	return strings.Join(missing, "; ")
}

// Run checks every clause in a subtest of its own, each on a fresh Target.
func Run(t *testing.T, open func(t *testing.T) Target) {
	t.Helper()
	for _, clause := range Clauses() {
		t.Run(clause.Name, func(t *testing.T) { clause.test(t, open(t)) })
	}
}

// RunFake is Run on fake time: each clause in a testing/synctest bubble, in which
// open is called. Nothing below the Target may reach out of it.
func RunFake(t *testing.T, open func(t *testing.T) Target) {
	t.Helper()
	for _, clause := range Clauses() {
		t.Run(clause.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { clause.test(t, open(t)) })
		})
	}
}

func (c Clause) test(t *testing.T, target Target) {
	if missing := c.Missing(target); missing != "" {
		t.Skipf("%s, so it is not shown that: %s", missing, c.Says)
	}
	if err := c.Check(t, target); err != nil {
		t.Errorf("%s\n%v", c.Says, err)
	}
}

// Check runs the clause against target and returns nil if it is kept, else what
// was seen. A panic in the Locker counts as a violation. tb is for Target.Open
// only; what Check finds does not fail it.
func (c Clause) Check(tb testing.TB, target Target) error {
	if err := target.validate(); err != nil {
		return err
	}
	if missing := c.Missing(target); missing != "" {
		return fmt.Errorf("cannot be checked: %s", missing)
	}
	patience := target.patience()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	ck := &check{Target: target, tb: tb, ctx: ctx, names: "locktest:" + c.Name + ":" + rand.Text()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer ck.helpers.Wait()
		defer cancel() // whatever a helper waits for
		defer ck.guard()
		c.run(ck)
	}()
	timer := time.NewTimer(patience + soon)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		ck.errorf("still running %v after its ctx ended", soon)
	}
	return ck.result()
}

// check is one run of a clause.
type check struct {
	Target
	tb    testing.TB
	ctx   context.Context
	names string // what the names of its locks contain, and no others do

	helpers  sync.WaitGroup
	observer lock.Locker

	mu       sync.Mutex
	failures []string
}

func (c *check) errorf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures = append(c.failures, fmt.Sprintf(format, args...))
}

// fatalf ends the clause; only for its own goroutine.
func (c *check) fatalf(format string, args ...any) {
	c.errorf(format, args...)
	runtime.Goexit()
}

// guard makes a violation of a panic. It is deferred.
func (c *check) guard() {
	if p := recover(); p != nil {
		c.errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// goes runs work on a goroutine that the clause waits for at its end.
func (c *check) goes(work func()) (done <-chan struct{}) {
	ended := make(chan struct{})
	c.helpers.Go(func() {
		defer close(ended)
		defer c.guard()
		work()
	})
	return ended
}

// name returns the name of a lock of this run alone.
func (c *check) name(suffix string) string { return c.names + suffix }

// open returns one more process.
func (c *check) open() lock.Locker { return c.Open(c.tb) }

// pass lets time pass.
func (c *check) pass(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.ctx.Done():
	}
}

// within waits for done, for as long as d, and reports whether it came.
func (c *check) within(d time.Duration, done <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

func (c *check) result() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.failures) == 0 {
		return nil
	}
	const most = 5
	shown := c.failures
	more := ""
	if len(shown) > most {
		more = fmt.Sprintf("\n… and %d more", len(shown)-most)
		shown = shown[:most]
	}
	return errors.New(strings.Join(shown, "\n") + more)
}
