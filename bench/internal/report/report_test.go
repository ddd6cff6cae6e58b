package report

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unwatch/unwatch/bench/internal/result"
	"github.com/unwatch/unwatch/bench/internal/stats"
	"github.com/unwatch/unwatch/bench/internal/worker"
)

// slot returns a slot of a second, with done updates by one process.
func slot(scenario, impl string, done int64) result.Slot {
	return result.Slot{
		Scenario: scenario, Impl: impl, Length: time.Second, Stored: done,
		Workers: []worker.UpdateResult{{Done: done, InSlot: done}},
		Server:  result.Server{Calls: map[string]int64{"get": 2 * done}},
	}
}

func sample() *result.Results {
	refused := result.Slot{Scenario: "p-hot64", Impl: "watch", Refused: "it said <no>|never"}
	broken := slot("hot64", "redislock", 80)
	broken.Stored, broken.Workers[0].Hung = 78, 3
	return &result.Results{
		Slots: []result.Slot{
			slot("hot64", "watch", 100), slot("hot64", "watch", 120), slot("hot64", "watch", 90),
			slot("hot64", "watch+bo", 500), broken, slot("hot64", "redsync", 200), slot("hot64", "unwatch", 16000),
			refused, slot("p-hot64", "unwatch", 10),
		},
		Holds: []result.Hold{
			{Scenario: "hold10k", Impl: "ticker", Took: time.Second, Server: result.Server{CPU: 300 * time.Millisecond, Calls: map[string]int64{"pexpire": 10}},
				Worker: worker.HoldResult{Locks: 10, Took: time.Second, Usage: worker.Usage{CPU: 600 * time.Millisecond}}},
			{Scenario: "hold10k", Impl: "unwatch", Took: time.Second, Server: result.Server{CPU: 200 * time.Millisecond, Calls: map[string]int64{"pexpire": 10}},
				Worker: worker.HoldResult{
					Locks: 10, Took: time.Second, Memory: 70e6, Watch: 7e6, Usage: worker.Usage{CPU: 90 * time.Millisecond},
				}},
		},
	}
}

func TestRatios(t *testing.T) {
	table := Tables(sample())[0]
	if table.Scenario.Name != "hot64" || len(table.Rows) != 5 {
		t.Fatalf("%s with %d rows", table.Scenario.Name, len(table.Rows))
	}
	for impl, want := range map[string][2]float64{
		"watch": {1, 0.5}, "watch+bo": {5, 2.5}, "redsync": {2, 1}, "redislock": {0.8, 0.4}, "unwatch": {160, 80},
	} {
		r := table.Row(impl)
		if r.TimesWatch != want[0] || r.TimesPeer != want[1] {
			t.Errorf("%s: %v x WATCH, %v x the best peer, want %v", impl, r.TimesWatch, r.TimesPeer, want)
		}
	}
	if r := table.Row("watch"); r.Rate != (stats.Spread{Median: 100, Min: 90, Max: 120, N: 3}) || measure("calls")(r) != 2 {
		t.Errorf("watch: %+v", r)
	}
	if got := table.Row("redislock").Trouble(); got != "2 lost, 3 hung" {
		t.Errorf("the trouble of redislock is %q", got)
	}
	if table.Row("rueidislock") != nil {
		t.Error("a row for what did not run")
	}
	if r := Tables(sample())[1].Rows[0]; r.Refused == "" || !math.IsNaN(r.TimesWatch) {
		t.Errorf("what was refused: %+v", r)
	}
}

// Ratios of several runs compare results of the same run, since the machine may change between
// runs.
func TestRatiosAreOfRuns(t *testing.T) {
	f := &result.Results{}
	for run, done := range [][3]int64{{100, 50, 5000}, {300, 100, 9000}, {200, 40, 4000}} {
		for i, impl := range []string{"watch", "watch+bo", "unwatch"} {
			s := slot("hot4x16", impl, done[i])
			s.Run = run + 1
			f.Slots = append(f.Slots, s)
		}
	}
	peer := slot("hot4x16", "redsync", 1000) // peers run once
	peer.Run = 2
	f.Slots = append(f.Slots, peer)
	r := Tables(f)[0].Row("unwatch")
	if r.TimesWatch != 30 || r.TimesBackoff != 100 || r.TimesPeer != 9 || r.Rate.Median != 5000 {
		t.Errorf("%v x WATCH, %v x that with backoff, %v x peer, %v/s", r.TimesWatch, r.TimesBackoff, r.TimesPeer, r.Rate.Median)
	}
}

// Beside WATCH writers, a row shows its share of the updates, and no numbers of the writers.
func TestShareBesideOthers(t *testing.T) {
	s := slot("beside2x4", "unwatch", 30)
	s.Beside = []worker.UpdateResult{{Done: 70, InSlot: 70}}
	s.Stored = 100
	f := &result.Results{Slots: []result.Slot{s}}
	if r := Tables(f)[0].Row("unwatch"); measure("share %")(r) != 30 || r.Rate.Median != 30 || r.Lost != 0 || r.Twice != 0 {
		t.Errorf("%+v", r)
	}
}

// measure returns the numbers of a column.
func measure(head string) func(*Row) float64 {
	all := columns()
	return all[slices.IndexFunc(all, func(c column[Row]) bool { return c.head == head })].number
}

func markdown(t *testing.T, f *result.Results) string {
	t.Helper()
	var b strings.Builder
	if err := Markdown(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Cells are aligned and escaped, and a reason stands where there is no number.
func TestMarkdown(t *testing.T) {
	text := markdown(t, sample())
	for _, want := range []string{
		"### hot64: ONE hot key, 1 process x 64 goroutines, loopback\n\n|           | updates/s | min..max ",
		"\n| unwatch   | 16,000    | 16.0k..16.0k | 160 ",
		`| it said &lt;no>\|never |`,
		"| 2 lost, 3 hung |",
		"### hold10k: 10,000 locks held, loopback\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Each slot is a line of the Go benchmark format: a name, a count, and pairs of a number and a unit.
func TestLines(t *testing.T) {
	var b strings.Builder
	if err := Lines(&b, sample()); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if got := strings.Count(text, "\nBenchmark"); got != 10 { // 8 slots that ran, and 2 keepers
		t.Errorf("%d lines", got)
	}
	line := regexp.MustCompile(`^Benchmark(Update|Hold)/scenario=\S+/impl=\S+ [1-9]\d*( [-+.e\d]+ [a-zA-Z]\S*)+\n$`)
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, "Benchmark") && !line.MatchString(l) {
			t.Errorf("invalid: %s", l)
		}
	}
	for _, want := range []string{
		"\nBenchmarkUpdate/scenario=hot64/impl=unwatch 16000 62500 ns/op ",
		"\nBenchmarkUpdate/scenario=hot64/impl=redislock 80 1.25e+07 ns/op ", " 5 bad-updates\n", " 2 calls/op ", " 7e+07 memory-B ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "p-hot64/impl=watch") {
		t.Error("a line of a refused slot")
	}
}
