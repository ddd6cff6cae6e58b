package report

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unwatch/unwatch/bench/internal/result"
	"github.com/unwatch/unwatch/bench/internal/stats"
)

// sections returns a slot of lock services, with hand-overs that took as long.
func sections(scenario, impl string, run int, done int64, handovers ...time.Duration) result.Slot {
	s := slot(scenario, impl, done)
	s.Run, s.Server = run, result.Server{}
	s.Workers[0].Commands = 3 * done
	for _, took := range handovers {
		s.Workers[0].Handovers.Add(took)
	}
	return s
}

func lockSample() *result.File {
	return &result.File{Slots: []result.Slot{
		sections("lock-turns", "lock-redis", 1, 400, time.Millisecond, 2*time.Millisecond),
		sections("lock-turns", "lock-etcd", 1, 100, 5*time.Millisecond),
		sections("lock-turns", "lock-redis", 2, 200, 2*time.Millisecond, 2*time.Millisecond),
		sections("lock-turns", "lock-etcd", 2, 100, 7*time.Millisecond),
		sections("lock-free", "lock-sqlite", 1, 50),
	}}
}

// Lock services are compared with Redis in the same run, and hand-overs are those of all processes.
func TestLockServices(t *testing.T) {
	tables := Tables(lockSample())
	if len(tables) != 2 || tables[0].Scenario.Name != "lock-free" || tables[1].Scenario.Name != "lock-turns" {
		t.Fatalf("tables: %+v", tables)
	}
	redis, etcd := tables[1].Row("lock-redis"), tables[1].Row("lock-etcd")
	if redis.TimesRedis != 1 || etcd.TimesRedis != 0.375 {
		t.Errorf("%v and %v x Redis, want 1 and the median of 0.25 and 0.5", redis.TimesRedis, etcd.TimesRedis)
	}
	if got := measure("hand-over p50")(etcd); math.Abs(got-6) > 0.1 {
		t.Errorf("hand-over of etcd %v ms, want the median of 5 and 7", got)
	}
	if got := measure("handed over %")(etcd); got != 1 {
		t.Errorf("%v %% of the sections of etcd were handed over, want 1", got)
	}
	if got := measure("commands")(etcd); got != 3 {
		t.Errorf("%v requests", got)
	}
	alone := tables[0].Rows[0]
	if !math.IsNaN(alone.TimesRedis) || !math.IsNaN(measure("hand-over p50")(&alone)) || !math.IsNaN(measure("calls")(&alone)) {
		t.Errorf("without Redis, without hand-overs and without counters of Redis: %+v", alone)
	}
	if got := verdicts(lockSample())["ours, 5 slots: updates lost, stored twice, hung or failed"]; got != "met" {
		t.Errorf("sections that exclude each other are %q", got)
	}
	overlap := lockSample()
	overlap.Slots[1].Stored--
	if got := verdicts(overlap)["ours, 5 slots: updates lost, stored twice, hung or failed"]; got != "MISSED" {
		t.Errorf("a section that overlapped another is %q", got)
	}
}

func TestLockServicesAreShown(t *testing.T) {
	docs := t.TempDir()
	if err := Write(docs, lockSample()); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(docs, "results", "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### lock-turns: ", "x Redis", "hand-over p50", "| lock-zookeeper | of adapters/zklock", "| lock-etcd | 100 | 100..100 | 0.38 |",
	} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	var b strings.Builder
	if err := Text(&b, lockSample()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(strings.TrimSpace(line))); n > 112 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, table := range Tables(lockSample()) {
		for _, column := range []string{"x WATCH", "x peer", "calls"} {
			if text := table.Markdown(); strings.Contains(text, column) {
				t.Errorf("column %s is of other scenarios:\n%s", column, text)
			}
		}
	}
}

// Negative control: without slots of lock services there are no columns for them.
func TestOtherScenariosHaveNoColumnsOfLocks(t *testing.T) {
	table := Tables(sample())[0]
	if text := table.Markdown(); strings.Contains(text, "x Redis") || strings.Contains(text, "hand-over") {
		t.Error(text)
	}
	if r := table.Row("watch"); r.Rate != (stats.Spread{Median: 100, Min: 90, Max: 120, N: 3}) {
		t.Errorf("%+v", r)
	}
}
