package locktest

import (
	"maps"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/internal/testing/long"
)

func flaws() map[string]flaw {
	all := callFlaws()
	for _, more := range []map[string]flaw{lockerFlaws(), serviceFlaws(), eventFlaws()} {
		maps.Copy(all, more)
	}
	return all
}

// failing returns those of the clauses that a Locker with the flaw fails.
func failing(t *testing.T, f flaw, clauses []Clause) (failed []string) {
	for _, c := range clauses {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				target := flawedTarget(f, c.Name)
				if c.Missing(target) != "" {
					return
				}
				if err := c.Check(t, target); err != nil {
					t.Log(err)
					failed = append(failed, c.Name)
				}
			})
		})
	}
	return failed
}

// TestControls runs the suite over each Locker with a flaw and requires the clauses of the
// flaw to fail. If one passes, it proves nothing. Each clause has a flaw.
func TestControls(t *testing.T) {
	proved := map[string]bool{}
	for says, f := range flaws() {
		clauses := some(t, strings.Fields(f.fails+f.only))
		for _, c := range clauses {
			proved[c.Name] = true
		}
		t.Run(says, func(t *testing.T) {
			assert.Len(t, failing(t, f, clauses), len(clauses), "a clause does not notice a Locker that %s", says)
		})
	}
	for _, c := range Clauses() {
		assert.True(t, proved[c.Name], "no control fails %q", c.Name)
	}
}

// A Locker without a flaw keeps each clause, so the controls fail for their flaws.
func TestNoFlawNoFailure(t *testing.T) {
	for _, c := range Clauses() {
		assert.Empty(t, c.Missing(flawedTarget(flaw{}, c.Name)))
	}
	for _, plain := range []bool{false, true} {
		assert.Empty(t, failing(t, flaw{plain: plain}, Clauses()))
	}
}

// A flaw with a sole clause fails no other. So that clause cannot be left out.
func TestLongSoleFlaws(t *testing.T) {
	long.Only(t)
	for says, f := range flaws() {
		if f.only != "" {
			t.Run(says, func(t *testing.T) {
				t.Parallel()
				assert.Equal(t, []string{f.only}, failing(t, f, Clauses()))
			})
		}
	}
}

// These clauses have no sole flaw: others, which need their promise, notice each.
func TestClausesWithoutSoleFlaw(t *testing.T) {
	var without []string
	sole := map[string]bool{}
	for _, f := range flaws() {
		sole[f.only] = true
	}
	for _, c := range Clauses() {
		if !sole[c.Name] {
			without = append(without, c.Name)
		}
	}
	assert.ElementsMatch(t, strings.Fields(`runs excludes goroutine unlock multi-lost two-locks nested nested-elsewhere
		nested-outlives nested-refused renewed cut-off token-none`), without)
}

// Every clause has a unique name and a sentence. Those that disturb the lock service run alone.
func TestClausesReadWell(t *testing.T) {
	seen, disturbs := map[string]bool{}, regexp.MustCompile("restart|disturb|fail over|set the clock")
	for _, c := range Clauses() {
		assert.False(t, seen[c.Name], "clause %q stands twice", c.Name)
		seen[c.Name] = true
		assert.Regexp(t, `^([A-Z]|fn).*\.$`, c.Says, c.Name)
		assert.Equal(t, disturbs.MatchString(c.Missing(Target{})), c.alone, c.Name)
	}
}
