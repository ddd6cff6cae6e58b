package timewheel_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/unwatch/unwatch/internal/timewheel"
)

const many = 100_000

// filled returns a wheel with many timers, spread over a minute.
func filled() (*timewheel.Wheel[int], []timewheel.Timer[int], []time.Duration) {
	r := rand.New(rand.NewPCG(1, 2))
	w := timewheel.New[int](tick)
	timers := make([]timewheel.Timer[int], many)
	whens := make([]time.Duration, many)
	for i := range timers {
		whens[i] = 1 + time.Duration(r.Int64N(int64(time.Minute)))
		w.Schedule(&timers[i], whens[i])
	}
	return w, timers, whens
}

// BenchmarkReschedule moves one of 100k scheduled timers.
func BenchmarkReschedule(b *testing.B) {
	w, timers, whens := filled()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		w.Schedule(&timers[i%many], whens[(i+many/2)%many])
		i++
	}
}

// BenchmarkScheduleCancel adds one timer to 100k and removes it.
func BenchmarkScheduleCancel(b *testing.B) {
	w, _, whens := filled()
	var timer timewheel.Timer[int]
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		w.Schedule(&timer, whens[i%many])
		w.Cancel(&timer)
		i++
	}
}

// BenchmarkAdvance advances tick by tick; every timer that fires, 17 per tick, is scheduled again a minute
// later.
func BenchmarkAdvance(b *testing.B) {
	w, _, _ := filled()
	now := time.Duration(0)
	fired := 0
	fire := func(t *timewheel.Timer[int]) {
		fired++
		w.Schedule(t, now+time.Minute)
	}
	b.ReportAllocs()
	for b.Loop() {
		now += tick
		w.Advance(now, fire)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(fired, 1)), "ns/timer")
}

func BenchmarkNext(b *testing.B) {
	w, _, _ := filled()
	b.ReportAllocs()
	for b.Loop() {
		w.Next()
	}
}
