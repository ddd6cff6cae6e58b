package rmwtest

import (
	"iter"
	"testing"

	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/internal/suite"
)

// Programs are drawn, run, judged and shrunk:
//
//   - drawProgram draws steps of two Stores over three keys: Update, Read, Peek, Transact, Close, many callers at once, time that
//     passes, and writes beside the Stores. Names and values come of pools of what bad code confuses. A step may have a fault at
//     one of its commands, an end of its ctx, an error or a panic of fn, a nested call, or writes by others while fn runs.
//     Choices have habits, so that one program does the same again and again, and another something else.
//   - runProgram runs it on fake time. Each call is judged by itself: its error, its Result, the calls of fn, their goroutine
//     and ctx. At the end all faults are over, and each Store has to work on each key.
//   - history judges all calls together: registers with an expiry, linearizable, where an unknown outcome is an effect that
//     may have happened or may yet.
//
// package suite has rapid draw programs, and replaces one that fails by shorter ones, as long as they fail. A program prints itself as
// Go while it runs.

// RunPrograms searches for a program of calls that the Store runs wrong, and prints the shortest that it finds as Go. All
// time is fake, so nothing below the Target may reach out of a testing/synctest bubble.
//
// At most so many programs are run, and a fifth of them with -short. The flags -rapid.seed and -rapid.checks set another seed
// and another number.
func RunPrograms(t *testing.T, open func(t *testing.T) Target, programs int) {
	t.Helper()
	found := search(t, open, 0, programs, "")
	if found == nil {
		return
	}
	t.Errorf("this program breaks the contract (of %d programs the last; -rapid.seed=%d draws it first):\n\n%s\n\n%v",
		found.Tried, found.Seed, found.Program.code.source(), found.Err)
}

// played is a program that writes itself as Go while it runs.
type played struct {
	program
	code *code
}

func search(t *testing.T, open func(t *testing.T) Target, seed uint64, programs int, shrink string) *suite.Found[*played] {
	t.Helper()
	target := Target{}
	suite.Fake(t, "programs", func(t *testing.T) { target = open(t) })
	return suite.Search[*played]{
		Seed: seed, Programs: programs, Shrink: shrink,
		Draw: func(rt *rapid.T) *played { return &played{program: drawProgram(rt, target)} },
		Run: func(t *testing.T, p *played) error {
			p.code = new(code)
			return runProgram(open(t), p.program, p.code)
		},
		Shorter: func(p *played) iter.Seq[*played] {
			return func(yield func(*played) bool) {
				for shorter := range p.shorter() {
					if !yield(&played{program: shorter}) {
						return
					}
				}
			}
		},
		Source: func(p *played) string { return p.code.source() },
	}.Find(t)
}
