package report

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/unwatch/unwatch/bench/internal/result"
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

func lockSample() *result.Results {
	return &result.Results{Slots: []result.Slot{
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
	overlap := lockSample()
	overlap.Slots[1].Stored--
	if got := Tables(overlap)[1].Row("lock-etcd").Trouble(); got != "1 lost" {
		t.Errorf("a section that overlapped another is %q", got)
	}
}

func TestLockServicesAreShown(t *testing.T) {
	text := markdown(t, lockSample())
	for _, want := range []string{"### lock-turns: ", " x Redis ", " hand-over p50 ", "| lock-etcd  | 100       | 100..100 | 0.38 "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, other := range []string{"x WATCH", "x peer", "calls"} {
		if strings.Contains(text, other) {
			t.Errorf("column %s is of other scenarios:\n%s", other, text)
		}
	}
}

// Negative control: without slots of lock services there are no columns for them.
func TestOtherScenariosHaveNoColumnsOfLocks(t *testing.T) {
	if text := markdown(t, sample()); strings.Contains(text, "x Redis") || strings.Contains(text, "hand-over") {
		t.Error(text)
	}
}
