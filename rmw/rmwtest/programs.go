package rmwtest

import (
	"strings"
	"testing"

	"github.com/unwatch/unwatch/internal/suite"
	"pgregory.net/rapid"
)

// programsRun is how many programs RunPrograms runs.
const programsRun = 1000

// RunPrograms searches for a program of calls that the Store runs wrong.
func RunPrograms(t *testing.T, open func(t *testing.T) Target) {
	t.Helper()
	found := search(t, open, 0, programsRun, "")
	if found == nil {
		return
	}
	t.Errorf("this program breaks the contract (of %d programs the last; -rapid.seed=%d draws it first):\n\n%s\n\n%v",
		found.Tried, found.Seed, found.Program.text, found.Err)
}

// played is a program, and what it looks like as Go.
type played struct {
	program
	text string
}

func search(t *testing.T, open func(t *testing.T) Target, seed uint64, programs int, shrink string) *suite.Found[*played] {
	t.Helper()
	target := Target{}
	suite.Fake(t, "programs", func(t *testing.T) { target = open(t) })
	return suite.Search[*played]{
		Seed: seed, Programs: programs, Shrink: shrink,
		Draw: func(rt *rapid.T) *played { return &played{program: drawProgram(rt, target)} },
		Run: func(t *testing.T, p *played) error {
			lines, err := runProgram(open(t), p.program)
			if err != nil {
				p.text = strings.Join(lines, "\n")
			}
			return err
		},
	}.Find(t)
}
