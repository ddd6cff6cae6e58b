package locktest

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/internal/suite"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/typecheck"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
)

func programsOf(cfg driver.Config) func(*testing.T) Target {
	return func(*testing.T) Target {
		t := MemoryTarget(NewMemory(cfg), cfg, func(tb testing.TB, m *Memory) lock.Locker {
			tb.Cleanup(func() { _ = m.Close() })
			return m
		})
		t.SlackAfterLease = 20 * time.Millisecond
		return t
	}
}

// Memory keeps the contract in all programs, and so does the Locker of the controls without a flaw.
func TestMemoryRunsPrograms(t *testing.T) {
	for name, open := range map[string]func(*testing.T) Target{
		"defaults": programsOf(driver.Config{}), "lock delay": programsOf(driver.Config{LockDelay: 5 * time.Second}),
		"max hold": programsOf(driver.Config{MaxHold: 40 * time.Second}),
		"no flaw":  programsOfFlawed(flaw{}), "no flaw, plain": programsOfFlawed(flaw{plain: true}),
	} {
		t.Run(name, func(t *testing.T) { RunPrograms(t, open, 400) })
	}
}

// A call may report the end of its ctx before the timer of ctx fires.
func TestProgramWithCallAtDeadline(t *testing.T) {
	open := programsOf(driver.Config{})
	call := func(locker int, acts ...act) act {
		return act{kind: doCall, call: &callPlan{locker: locker, crowd: 1, limit: 2 * time.Second, blind: true, acts: acts}}
	}
	outer := call(0, act{kind: doCut, locker: 1, pass: 5 * time.Second}, call(2), call(1))
	p := program{names: []string{"a", "b", "third"}, acts: []act{outer}, target: open(t)}
	for range 100 {
		suite.Fake(t, "programs", func(t *testing.T) { require.NoError(t, runProgram(t, open(t), p), p.source()) })
	}
}

// A program with any act compiles when printed.
func TestPrintedProgramsCompile(t *testing.T) {
	target := programsOf(driver.Config{})(t)
	draw := rapid.Custom(func(rt *rapid.T) program { return drawProgram(rt, target) })
	kinds := map[actKind]bool{}
	for seed := 0; seed < 100 || len(kinds) <= int(doClose); seed++ {
		p := draw.Example(seed)
		before := len(kinds)
		eachAct(p.acts, func(a *act) { kinds[a.kind] = true })
		if seed < 100 || len(kinds) > before {
			p.ends, p.target.Checks, p.target.Inspects = seed%2 > 0, seed%3 > 0, seed%5 > 0
			checker(t).Check(t, p.source())
		}
	}
}

// A flaw that needs few acts leaves few in the program.
func TestProgramsShrink(t *testing.T) {
	for says, f := range strangerFlaws() {
		if slices.Contains(quick, says[:3]) {
			found := search(t, programsOfFlawed(f), 1, 5000, "20s")
			acts := 0
			eachAct(found.Program.acts, func(*act) { acts++ })
			assert.LessOrEqual(t, acts, 3, "%s:\n%s", says, found.Program.source())
			checker(t).Check(t, found.Program.source())
		}
	}
}

func programsOfFlawed(f flaw) func(*testing.T) Target {
	return func(*testing.T) Target { return flawedTarget(f, "") }
}

// quick are flaws, one of each family, that few programs find.
var quick = []string{"L01", "L03", "L08", "L12", "L15", "L19", "L24"}

// Negative control: the programs find a flaw of each family.
func TestProgramsFindFlaws(t *testing.T) {
	for says, f := range strangerFlaws() {
		if slices.Contains(quick, says[:3]) {
			t.Run(says, func(t *testing.T) { findFlaw(t, says, f, 1) })
		}
	}
}

// Negative control: programs find each flaw with several seeds. UNWATCH_CONTROL_SEEDS sets their number.
func TestLongProgramsFindFlaws(t *testing.T) {
	long.Only(t)
	seeds, err := strconv.Atoi(os.Getenv("UNWATCH_CONTROL_SEEDS"))
	if err != nil {
		seeds = 3
	}
	all := strangerFlaws()
	for _, says := range slices.Sorted(maps.Keys(all)) {
		t.Run(says, func(t *testing.T) { findFlaw(t, says, all[says], seeds) })
	}
}

func findFlaw(t *testing.T, says string, f flaw, seeds int) {
	t.Helper()
	var tried []int
	for seed := range seeds {
		if found := search(t, programsOfFlawed(f), uint64(1+1_000_000*seed), 5000, "0s"); found != nil {
			tried = append(tried, found.Tried)
			checker(t).Check(t, found.Program.source())
		}
	}
	if len(tried) < seeds {
		t.Errorf("%s: found in %d of %d runs", says, len(tried), seeds)
	}
	if slices.Sort(tried); len(tried) > 0 {
		t.Logf("%s: found in %d of %d runs, by %d programs in the median, %d at most",
			says, len(tried), seeds, tried[len(tried)/2], tried[len(tried)-1])
	}
}

// checker checks printed programs.
var checker = typecheck.Once(`package printed

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/locktest"
	"github.com/unwatch/unwatch/rmw"
)

func open(t *testing.T) (target locktest.Target) { return }
`)
