package rmwtest

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/internal/suite"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/typecheck"
	"github.com/unwatch/unwatch/rmw"
)

func memoryTarget(*testing.T) Target {
	m := NewMemory()
	return Target{Open: func() rmw.Store { return m }, Direct: m, Faults: m}
}

// Memory keeps the contract in all programs, and so does the Store of the controls without a flaw.
func TestMemoryRunsPrograms(t *testing.T) { RunPrograms(t, memoryTarget, 1000) }

func TestControlWithoutAFlawRunsPrograms(t *testing.T) { RunPrograms(t, faultyTarget("none "), 300) }

func faultyTarget(flaw string) func(*testing.T) Target {
	losses := &atomic.Uint64{}
	return func(*testing.T) Target {
		m := NewMemory()
		return Target{Open: func() rmw.Store { return newFaulty(m, flaw, losses) }, Direct: m, Faults: m}
	}
}

// A program compiles when printed, and so does each of its steps alone.
func TestPrintedProgramsCompile(t *testing.T) {
	var sources []string
	play := func(p program) {
		suite.Fake(t, "programs", func(t *testing.T) {
			c := new(code)
			if err := runProgram(memoryTarget(t), p, c); err != nil {
				t.Error(err)
			}
			sources = append(sources, c.source())
		})
	}
	draw := rapid.Custom(func(rt *rapid.T) program { return drawProgram(rt, memoryTarget(t)) })
	for seed := range 80 {
		p := draw.Example(seed)
		play(p)
		p.ends = true
		for _, s := range p.steps {
			alone := p
			alone.steps = []step{s}
			play(alone)
		}
	}
	for _, source := range sources {
		checker(t).Check(t, source)
	}
}

// flaws are Stores of a stranger: they pass all clauses.
var flaws = []string{
	"f01 reports unknown although fn was not called",
	"f02 reports one lost answer in 50 as success",
	"f03 reports one lost answer in 50 as failure",
	"f04 reports a lost answer to a delete as success",
	"f05 sends again after a lost answer if the key existed",
	"f06 sends again after a lost answer if the value is above 4 KB",
	"f07 reports a lost answer in the second attempt as contended",
	"g01 guard trims space",
	"g02 guard compares as float",
	"g03 guard stops at NUL",
	"g04 guard repairs UTF-8",
	"g05 guard takes an empty field for an absent one",
	"g07 takes another's equal write for its own",
	"g08 guard does not see an added field",
	"g09 guard overwrites another kind",
	"g10 guard compares CRC-32",
	"g11 guard compares length and both ends",
	"g12 has no guard at the 11th attempt",
	"g13 GET, compare, SET",
	"g14 takes another's equal write for its own after a lost answer",
	"k01 a Read joins an earlier one",
	"k02 of more than 16 updates at once the others are acknowledged only",
	"k04 a lost answer leaves the key locked",
	"k05 a lost answer shifts the next one",
	"k06 three lost answers end it",
	"k07 the second of two calls gets the Result of the first",
	"t01 writes back an expiry that was read before",
	"t02 no expiry above 2^31 ms",
	"t03 rounds an expiry up to seconds",
	"t04 SET, then PEXPIRE",
	"t06 reads an expired value for a second",
	"h01 stores 4,000 fields",
	"h02 HSET, then HDEL",
	"v01 trims a newline",
	"v02 orders JSON",
	"v03 normalizes to NFC",
	"v04 cuts names at 512 bytes",
	"v05 drops a BOM",
	"c01 calls fn again after its own ErrContended",
	"c02 wraps fn's context.Canceled",
	"c03 turns a panic's value into text",
	"c04 detaches the ctx of the second call",
	"c05 has a limit of 5 s of its own",
	"c06 errors quote the value",
	"c07 Update after Close hangs",
	"c08 Close in flight: ErrClosed, and stored",
	"c09 the second Close panics",
	"c10 the second call is on another goroutine",
	"c11 Result on errors",
	"c12 errors that are no *rmw.Error",
	"c13 a panic in the second call leaves the key locked",
}

// controlBudget is the number of programs that find each flaw.
const controlBudget = 5000

// quick are flaws, one of each family, that few programs find.
var quick = []string{"f05", "g07", "g12", "k02", "t03", "h01", "v04", "c13"}

// Negative control: the programs find a flaw of each family.
func TestProgramsFindFlaws(t *testing.T) {
	for _, flaw := range flaws {
		if slices.Contains(quick, flaw[:3]) {
			t.Run(flaw[:3], func(t *testing.T) { findFlaw(t, flaw, faultyTarget(flaw), 1) })
		}
	}
}

// Negative control: programs find each flaw with several seeds. UNWATCH_CONTROL_SEEDS sets their number.
func TestLongProgramsFindFlaws(t *testing.T) {
	long.Only(t)
	seeds, err := strconv.Atoi(os.Getenv("UNWATCH_CONTROL_SEEDS"))
	if err != nil {
		seeds = 1
	}
	for _, flaw := range flaws {
		t.Run(flaw[:3], func(t *testing.T) { findFlaw(t, flaw, faultyTarget(flaw), seeds) })
	}
	for _, f := range slices.Sorted(maps.Keys(controls)) {
		if slices.Contains(undrawn, f) {
			continue
		}
		t.Run(string(f), func(t *testing.T) { findFlaw(t, string(f), naiveTarget(f), seeds) })
	}
}

// undrawn are flaws that no program shows, but a clause.
var undrawn = []flaw{txAnyNumber, txNests, peeksApart, peeksRounded}

func naiveTarget(f flaw) func(*testing.T) Target {
	return func(t *testing.T) Target {
		m := NewMemory()
		n := newNaive(m, f)
		if f != leaks {
			t.Cleanup(func() { close(n.end) })
		}
		return Target{Open: func() rmw.Store { return n }, Direct: m, Faults: m}
	}
}

func findFlaw(t *testing.T, flaw string, open func(*testing.T) Target, seeds int) {
	t.Helper()
	var tried []int
	for seed := range seeds {
		if found := search(t, open, uint64(1+1_000_000*seed), controlBudget, "0s"); found != nil {
			tried = append(tried, found.Tried)
			checker(t).Check(t, found.Program.code.source())
		}
	}
	if len(tried)*20 < seeds*19 {
		t.Errorf("%s: found in %d of %d runs", flaw, len(tried), seeds)
	}
	if slices.Sort(tried); len(tried) > 0 {
		t.Logf("%s: found in %d of %d runs, by %d programs in the median, %d at most",
			flaw, len(tried), seeds, tried[len(tried)/2], tried[len(tried)-1])
	}
}

// checker checks printed programs.
var checker = typecheck.Once(prelude)

const prelude = `package printed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

func open(t *testing.T) (target rmwtest.Target) { return }
`
