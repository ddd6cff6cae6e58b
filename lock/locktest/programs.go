package locktest

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/internal/suite"
)

// Programs are drawn, run, judged and shrunk:
//
//   - drawProgram draws acts of three Lockers on three locks: calls of WithLock, TryLock and Lock, one after the other, at once, in
//     crowds and nested; time that passes; faults that the Target declares; Close. Names come of the pools of package twin.
//   - runProgram runs it on fake time. A model judges each call: exclusion, tokens, the time until a free lock is granted, fn's
//     goroutine, ctx and end, and all errors. At the end all faults are over, and each Locker has to get each lock.
//
// package suite has rapid draw programs, and replaces one that fails by shorter ones, as long as they fail. source prints it as Go.

// RunPrograms searches for a program of calls that the Lockers run wrong, and prints the shortest that it finds as Go. All time is
// fake, so nothing below the Target may reach out of a testing/synctest bubble.
//
// At most so many programs are run. The flags -rapid.seed and -rapid.checks set another seed and another number.
func RunPrograms(t *testing.T, open func(t *testing.T) Target, programs int) {
	t.Helper()
	if found := search(t, open, 0, programs, ""); found != nil {
		t.Errorf("this program breaks the contract (of %d programs the last; -rapid.seed=%d draws it first):\n\n%s\n\n%v",
			found.Tried, found.Seed, found.Program.source(), found.Err)
	}
}

func search(t *testing.T, open func(t *testing.T) Target, seed uint64, programs int, shrink string) *suite.Found[program] {
	t.Helper()
	target := Target{}
	suite.Fake(t, "programs", func(t *testing.T) { target = open(t) })
	if err := target.validate(); err != nil {
		t.Fatal(err)
	}
	return suite.Search[program]{
		Seed: seed, Programs: programs, Shrink: shrink,
		Draw:    func(rt *rapid.T) program { return drawProgram(rt, target) },
		Run:     func(t *testing.T, p program) error { return runProgram(t, open(t), p) },
		Shorter: program.shorter,
		Source:  program.source,
	}.Find(t)
}
