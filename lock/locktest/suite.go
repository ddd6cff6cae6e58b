package locktest

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/unwatch/unwatch/internal/suite"
	"github.com/unwatch/unwatch/lock"
)

// Clause is one rule that a Locker keeps, and the test of it.
type Clause struct {
	// Name is short and stable: the subtest's name.
	Name string
	// Says is the rule, as one sentence.
	Says string

	needs []need
	run   func(c *check)
	alone bool // it disturbs the lock service, so no other runs meanwhile
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

// Run checks every clause in a subtest of its own, each on a fresh Target, or only the clauses of these
// names, which the Target then must declare. The Targets may share a lock service. The clauses that disturb
// it run first, one at a time, and then the others in parallel, since they mostly wait for leases to end.
func Run(t *testing.T, open func(t *testing.T) Target, names ...string) {
	t.Helper()
	run(t, open, some(t, names), len(names) > 0)
}

// RunQuick is Run of the clauses that wait for no lease and need no Faults, for tests that run each time.
func RunQuick(t *testing.T, open func(t *testing.T) Target) {
	t.Helper()
	run(t, open, slices.DeleteFunc(Clauses(), func(c Clause) bool { return !c.quick() }), false)
}

func run(t *testing.T, open func(t *testing.T) Target, clauses []Clause, must bool) {
	t.Helper()
	for _, clause := range clauses {
		t.Run(clause.Name, func(t *testing.T) {
			if !clause.alone {
				t.Parallel()
			}
			clause.test(t, open(t), must)
		})
	}
}

// RunFake is Run on fake time: each clause in a testing/synctest bubble, in which
// open is called. Nothing below the Target may reach out of it. A clause that takes two
// minutes of real time ends the test binary with a panic: its Locker spins. Without names, 15 programs
// run, too; see [RunPrograms].
func RunFake(t *testing.T, open func(t *testing.T) Target, names ...string) {
	t.Helper()
	for _, clause := range some(t, names) {
		t.Run(clause.Name, func(t *testing.T) {
			suite.Fake(t, clause.Name, func(t *testing.T) { clause.test(t, open(t), len(names) > 0) })
		})
	}
	if len(names) == 0 {
		t.Run("programs", func(t *testing.T) { RunPrograms(t, open, 15) })
	}
}

// some returns the clauses of these names, or all.
func some(t *testing.T, names []string) []Clause {
	t.Helper()
	clauses := Clauses()
	if len(names) == 0 {
		return clauses
	}
	clauses = slices.DeleteFunc(clauses, func(c Clause) bool { return !slices.Contains(names, c.Name) })
	if len(clauses) != len(names) {
		t.Errorf("not all of %q are clauses", names)
	}
	return clauses
}

// quick reports whether a Target without a lease and without Faults meets all needs.
func (c Clause) quick() bool {
	return c.Missing(Target{
		Reentrant: true, Tokens: true, Ordered: true, Jeopardy: true, Wanted: true,
		Checks: true, Inspects: true, Data: true, SteadyClock: true,
		Observe: func(testing.TB, lock.Observer) lock.Locker { return nil }, Share: func(testing.TB) (a, b lock.Locker) { return nil, nil },
	}) == ""
}

func (c Clause) test(t *testing.T, target Target, must bool) {
	if missing := c.Missing(target); missing != "" && !must {
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
	return suite.Run(tb.Context(), target.Patience, func(ck *suite.Check) {
		c.run(&check{Target: target, Check: ck, tb: tb, names: "locktest:" + c.Name + ":" + rand.Text()})
	})
}

// check is one run of a clause.
type check struct {
	Target
	*suite.Check
	tb       testing.TB
	names    string // in the names of all its locks, and of no others
	observer lock.Locker
}

// name returns the name of a lock of this run alone.
func (c *check) name(suffix string) string { return c.names + suffix }

// open returns one more process.
func (c *check) open() lock.Locker { return c.Open(c.tb) }
