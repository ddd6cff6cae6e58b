package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
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

func sample() *result.File {
	refused := result.Slot{Scenario: "p-hot64", Impl: "watch", Refused: "it said <no>|never"}
	broken := slot("hot64", "redislock", 80)
	broken.Stored, broken.Workers[0].Hung = 78, 3
	return &result.File{
		Command: []string{"bench", "-run", "a|b"},
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
	f := &result.File{}
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
	f := &result.File{Slots: []result.Slot{s}}
	if r := Tables(f)[0].Row("unwatch"); measure("share %")(r) != 30 || r.Rate.Median != 30 || r.Lost != 0 || r.Twice != 0 {
		t.Errorf("%+v", r)
	}
	if got := verdicts(f)["2x4 beside 2x4 with WATCH, fn of 20 ms: share of updates"]; got != "met" {
		t.Errorf("30 %% is %q", got)
	}
}

func verdicts(f *result.File) map[string]string {
	got := map[string]string{}
	for _, target := range Targets(f) {
		got[target.What] = target.Verdict
	}
	return got
}

func TestTargets(t *testing.T) {
	got := verdicts(sample())
	for what, want := range map[string]string{
		"hot key, 1x64, loopback: over WATCH":                       "met",
		"hot key, 1x64, loopback: server calls an update":           "MISSED",
		"hot key, 1x64, +1 ms: over WATCH":                          "not measured",
		"10,000 locks: client CPU a renewal, against the tickers":   "met",
		"10,000 locks: Redis CPU a renewal, against the tickers":    "MISSED",
		"hot key, 1x64, loopback, on demand: over WATCH":            "not measured",
		"10,000 locks: memory":                                      "MISSED",
		"10,000 locks: memory of the watch alone":                   "met",
		"100,000 locks: memory of the watch alone":                  "not measured",
		"ours, 2 slots: updates lost, stored twice, hung or failed": "met",
	} {
		if got[what] != want {
			t.Errorf("%s: %q, want %q", what, got[what], want)
		}
	}
}

// One lost update misses a target, whatever the other results are.
func TestLostUpdateMissesTarget(t *testing.T) {
	f := sample()
	f.Slots[6].Stored--
	targets := Targets(f)
	if last := targets[len(targets)-1]; last.Verdict != "MISSED" || last.Measured != "1.00" {
		t.Errorf("%+v", last)
	}
}

func TestChartsAreValidAndEscaped(t *testing.T) {
	bar := func(v float64) stats.Spread { return stats.Spread{Median: v, Min: v / 2, Max: v * 2, N: 3} }
	for _, logarithmic := range []bool{true, false} {
		c := Chart{
			Title: `a < b & "c"`, Unit: "<i>", Log: logarithmic, Series: []string{"one & two", "three"},
			Items: []Item{
				{Label: "<script>", Ours: true, Bars: []stats.Spread{bar(3), bar(0)}},
				{Label: "none", Bars: []stats.Spread{{}, bar(1e7)}, Notes: []string{"refused & gone", ""}},
			},
		}
		text := c.SVG()
		d := xml.NewDecoder(strings.NewReader(text))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
		}
		for _, bad := range []string{"<script>", "NaN", "Inf", "<i>", `width="-`} {
			if strings.Contains(text, bad) {
				t.Errorf("%s in\n%s", bad, text)
			}
		}
	}
	if text := (Chart{Series: []string{"x"}}).SVG(); strings.Contains(text, "NaN") {
		t.Error(text)
	}
}

func TestJudge(t *testing.T) {
	for v, want := range map[float64]string{1.2: "met", 1: "restated", 0.9: "restated", 0.8: "MISSED"} {
		if got := atLeast(1.2, "x").restate(0.9).judge("", v); got.Verdict != want || got.Want != ">= 1.20x, now 0.90x" {
			t.Errorf("%v is %v, want %s", v, got, want)
		}
	}
}

func TestPage(t *testing.T) {
	docs := t.TempDir()
	if err := Write(docs, sample()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(docs, "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n\nMeasured on")
	if !strings.Contains(first, "\n- 10,000 locks: memory: 70.0 MB") {
		t.Errorf("the page does not begin with the targets that are missed:\n%s", first)
	}
	tables, err := os.ReadFile(filepath.Join(docs, "results", "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for want, where := range map[string][]byte{
		"make bench\n": text, "performance/hot-1x64.svg": text,
		"| watch | refused |": tables, `it said &lt;no>\|never`: tables, "16,000": tables,
	} {
		if !bytes.Contains(where, []byte(want)) {
			t.Errorf("a page has no %q", want)
		}
	}
	for _, figure := range Figures(sample()) {
		if _, err := os.Stat(filepath.Join(docs, "performance", figure.Name+".svg")); err != nil {
			t.Error(err)
		}
	}
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, sample()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(strings.TrimSpace(line))); n > 112 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(b.String(), "refused: it said") {
		t.Error(b.String())
	}
}

func TestResultFileIsReadBack(t *testing.T) {
	name := filepath.Join(t.TempDir(), "deeper", "results.json")
	if err := sample().Write(name); err != nil {
		t.Fatal(err)
	}
	f, err := result.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Slots) != len(sample().Slots) || f.Slots[4].Hung() != 3 || f.Holds[1].Worker.Memory != 70e6 {
		t.Errorf("%+v", f)
	}
}
