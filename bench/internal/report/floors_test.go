package report

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/unwatch/unwatch/bench/internal/peers"
)

// floor is a limit on a figure in the tables of a run.
type floor struct {
	scenario, impl, column string
	limit                  float64
	most                   bool // upper limit
}

func least(scenario, impl, column string, limit float64) floor {
	return floor{scenario, impl, column, limit, false}
}

func most(scenario, impl, column string, limit float64) floor {
	return floor{scenario, impl, column, limit, true}
}

const (
	locked   = "unwatch"
	onDemand = "unwatch-ondemand"
)

// floors hold on a quiet machine of two cores. A ratio to WATCH is below 1 where CPU decides: docs/performance.md
// gives the reasons.
func floors() []floor {
	var list []floor
	for _, f := range []struct {
		scenario         string
		locked, onDemand float64
	}{
		{"unc1", 0.6, 0.7}, {"unc8", 0.75, 0.9}, {"unc64", 1.25, 1.7}, {"zipf64", 13, 13},
		{"hot64", 100, 100}, {"hot4x16", 50, 50}, {"hot16x1", 1, 1},
		{"d-unc1", 1.42, 1.42}, {"d-turn1", 1.42, 1.42}, {"d-unc64", 1.3, 1.5}, {"d-zipf64", 11, 11},
		{"d-hot64", 90, 90}, {"d-hot4x16", 20, 20},
	} {
		list = append(list, least(f.scenario, locked, "x WATCH", f.locked), least(f.scenario, onDemand, "x WATCH", f.onDemand))
	}
	for _, impl := range []string{locked, onDemand} {
		list = append(list,
			least("beside4x1", impl, "share %", 30), least("beside2x4", impl, "share %", 30),
			least("fair4x16", impl, "worst %", 60), least("d-fair4x16", impl, "worst %", 60))
	}
	return append(list,
		least("unc1", "unwatch-inline", "x WATCH", 1.2), least("unc8", "unwatch-inline", "x WATCH", 1.3),
		least("unc1", "unwatch-keep", "x WATCH", 1.4), least("d-unc1", "unwatch-keep", "x WATCH", 2.3),
		least("d-unc64", "unwatch-get", "x WATCH", 1.3),
		// Counts of an update may include the last release of the warm-up.
		most("unc1", locked, "reads", 3.1), most("unc1", onDemand, "reads", 2.1),
		most("unc1", locked, "commands", 4.1), most("unc1", onDemand, "commands", 3.1),
		most("unc1", locked, "calls", 12.1), most("unc1", onDemand, "calls", 6.1),
		most("unc1", locked, "allocs", 80), most("unc1", onDemand, "allocs", 65),
		most("hot64", locked, "calls", 0.2), most("d-hot64", locked, "calls", 0.2),
		// Stacks and the buffers of renewals count here. Package lockupdate tests the memory of the locks alone.
		most("hold10k", locked, "memory MB", 8), most("hold10k", locked, "watch MB", 8),
		most("hold100k", locked, "memory MB", 50), most("hold100k", locked, "watch MB", 16),
		most("hold10k", locked, "late max ms", 20), most("hold100k", locked, "late max ms", 20),
	)
}

// togetherFloors are those of updates of several keys. The recorded page does not have these tables yet, so that only make bench
// checks them.
func togetherFloors() []floor {
	var list []floor
	for _, f := range []struct {
		scenario          string
		loopback, delayed float64
	}{
		{"two1", 0.55, 1.4}, {"four1", 0, 1.4}, {"two64", 1.3, 1.3}, {"four64", 0.8, 1.05}, {"two64-100", 1.3, 1.3},
		{"two64-10", 8, 8}, {"twohot64", 200, 40}, {"twohot4x16", 15, 5},
	} {
		if f.loopback > 0 {
			list = append(list, least(f.scenario, locked, "x WATCH", f.loopback))
		}
		list = append(list, least("d-"+f.scenario, locked, "x WATCH", f.delayed))
	}
	// Combined updates seal a key for two round trips of three, and for the time of fn; single ones that follow each other for longer.
	for _, scenario := range []string{"read1", "read8", "read64", "d-read1", "d-read8", "d-read64"} {
		list = append(list, most(scenario, locked, "sealed %", 80))
	}
	// The calls of a take, the decision, an opening and the forgetting of the decision, for each key or once.
	return append(list, most("two1", locked, "calls", 18.1), most("two1", locked, "commands", 6.1), most("four1", locked, "commands", 10.1))
}

// figures are the cells of all tables, by scenario, implementation and column.
type figures map[string]map[string]map[string]string

// readFigures reads tables of Markdown below headings "### scenario: title".
func readFigures(text string) figures {
	all := figures{}
	var scenario string
	var head []string
	for line := range strings.Lines(text) {
		if name, _, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(name, "### ") {
			scenario, head = strings.TrimPrefix(name, "### "), nil
			all[scenario] = map[string]map[string]string{}
		}
		if scenario == "" || !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if head == nil {
			head = cells
			continue
		}
		row := map[string]string{}
		for i, text := range cells[:min(len(cells), len(head))] {
			row[head[i]] = text
		}
		all[scenario][cells[0]] = row
	}
	return all
}

// number returns a figure, or NaN if it was not measured.
func (f figures) number(scenario, impl, column string) float64 {
	v, err := strconv.ParseFloat(strings.ReplaceAll(f[scenario][impl][column], ",", ""), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// below returns the figures that are below their floors.
func (f figures) below(floors []floor) []string {
	var found []string
	for _, l := range floors {
		v := f.number(l.scenario, l.impl, l.column)
		if l.most && v <= l.limit || !l.most && v >= l.limit {
			continue
		}
		sign := "at least"
		if l.most {
			sign = "at most"
		}
		found = append(found, fmt.Sprintf("%s, %s: %s is %v, want %s %v", l.scenario, l.impl, l.column, v, sign, l.limit))
	}
	return found
}

// unsound returns rows of this project with lost, repeated, hung or failed updates, or with lost locks, and
// scenarios in which renewals cost more than a part of the cost of a ticker for each lock.
func (f figures) unsound() []string {
	var found []string
	for scenario, rows := range f {
		for impl, row := range rows {
			if peers.Ours(impl) && (row["trouble"] != "" || cmp.Or(row["lost"], "0") != "0") {
				found = append(found, fmt.Sprintf("%s, %s: %s%s", scenario, impl, row["trouble"], row["lost"]))
			}
		}
	}
	for _, scenario := range []string{"hold10k", "hold100k"} {
		for column, part := range map[string]float64{"client CPU %": 1.0 / 6, "Redis CPU %": 1.0 / 3} {
			// Per renewal: tickers that skip renewals would look cheap.
			each := func(impl string) float64 {
				return f.number(scenario, impl, column) / f.number(scenario, impl, "renewals/s")
			}
			if v := each(locked) / each("ticker"); !(v <= part) {
				found = append(found, fmt.Sprintf(
					"%s: %s of a renewal is %.2f of the tickers', want at most %.2f", scenario, column, v, part))
			}
		}
	}
	return found
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const recorded = "../../../docs/results/performance.md"

// The tables of make bench, and without them the recorded ones, are within the floors.
func TestFloors(t *testing.T) {
	tables, all := os.Getenv("UNWATCH_BENCH_TABLES"), floors()
	if tables != "" {
		all = append(all, togetherFloors()...)
	}
	f := readFigures(read(t, cmp.Or(tables, recorded)))
	for _, finding := range append(f.below(all), f.unsound()...) {
		t.Error(finding)
	}
}

// Negative control: each floor finds a figure that is worse than its limit, and one that is missing.
func TestFloorsFindFigures(t *testing.T) {
	for _, l := range append(floors(), togetherFloors()...) {
		worse := l.limit * 0.99
		if l.most {
			worse = l.limit * 1.01
		}
		f := figures{l.scenario: {l.impl: {l.column: fmt.Sprint(worse)}}}
		if len(f.below([]floor{l})) != 1 || len((figures{}).below([]floor{l})) != 1 {
			t.Errorf("%+v misses %v", l, worse)
		}
	}
	page := read(t, recorded)
	if found := readFigures(page).unsound(); len(found) > 0 {
		t.Fatal(found)
	}
	for old, broken := range map[string]string{
		"| 10.4 | 0 |":                       "| 10.4 | 1 |", // a lost lock
		"| unwatch | 100,000 | 2.92 | 4.93 ": "| unwatch | 100,000 | 29.2 | 4.93 ",
		"| 54.4 | 0 |  |":                    "| 54.4 | 0 | 1 lost |",
	} {
		if changed := strings.Replace(page, old, broken, 1); changed == page || len(readFigures(changed).unsound()) != 1 {
			t.Errorf("%q in place of %q is not found", broken, old)
		}
	}
}

// Floors and tables agree: what Markdown writes is read again.
func TestFiguresAreReadBack(t *testing.T) {
	f := readFigures(markdown(t, sample()))
	if got := f.number("hot64", "unwatch", "x WATCH"); got != 160 {
		t.Errorf("%v x WATCH", got)
	}
	if got := f.number("hold10k", "unwatch", "memory MB"); got != 70 {
		t.Errorf("%v MB", got)
	}
	if got := f["hot64"]["redislock"]["trouble"]; got != "2 lost, 3 hung" {
		t.Errorf("trouble %q", got)
	}
}

// The page of results describes each implementation as the code does.
func TestResultsPageDescribesImplementations(t *testing.T) {
	page := read(t, recorded)
	check := func(names []string, what func(string) string) {
		for _, name := range names {
			if row := fmt.Sprintf("| %s | %s |\n", name, escape(what(name))); !strings.Contains(page, row) {
				t.Errorf("the page has no %q", row)
			}
		}
	}
	check(peers.Names(), peers.What)
	check(peers.Keepers(), peers.KeeperWhat)
}
