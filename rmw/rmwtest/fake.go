package rmwtest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// clauseTime bounds the real time of a clause on fake time, of which it takes some seconds
// at most.
const clauseTime = 2 * time.Minute

// RunFake is [Run] on fake time: each clause runs in a testing/synctest bubble, in which
// open is called. Waiting costs nothing, and a goroutine that stays behind fails the test.
// Nothing below the Target may reach out of the bubble.
//
// Fake time stands still while a goroutine of the bubble runs, or waits for a sync.Mutex or
// the network. With a Store that spins, no timer of the bubble would ever fire. RunFake
// therefore panics if a clause takes two minutes of real time, and so ends the test binary:
// nothing else ends a goroutine that spins. The panic names the clause and shows the
// goroutines of the bubble.
func RunFake(t *testing.T, open func(t *testing.T) Target) {
	t.Helper()
	for _, clause := range Clauses() {
		t.Run(clause.Name, func(t *testing.T) {
			clause.testFake(t, open, clauseTime, func(message string) { panic(message) })
		})
	}
}

// testFake calls stuck if the clause takes longer than limit in real time.
func (c Clause) testFake(t *testing.T, open func(t *testing.T) Target, limit time.Duration, stuck func(message string)) {
	t.Helper()
	watchdog := time.AfterFunc(limit, func() { // outside the bubble
		stuck(fmt.Sprintf("rmwtest: clause %q is not over after %v of real time. Fake time stands still "+
			"while the Store spins, or waits for a sync.Mutex or the network. Its goroutines:\n\n%s", c.Name, limit, bubble()))
	})
	defer watchdog.Stop()
	synctest.Test(t, func(t *testing.T) { c.test(t, open(t)) })
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
