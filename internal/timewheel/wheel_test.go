package timewheel_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/timewheel"
)

const tick = 10 * time.Millisecond

func randomScript(seed uint64, length int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	data := make([]byte, 0, length+8)
	for len(data) < length {
		data = binary.LittleEndian.AppendUint64(data, r.Uint64())
	}
	return data
}

func TestAWheelDoesWhatASortedListWould(t *testing.T) {
	fired := 0
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { fired += run(t, randomScript(seed, 1500)).fired })
	}
	assert.Greater(t, fired, 10_000, "the scripts hardly fire anything")
}

func FuzzWheel(f *testing.F) {
	for seed := range uint64(5) {
		f.Add(randomScript(seed, 300))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			t.Skip("longer scripts find nothing new")
		}
		run(t, data)
	})
}

// advance returns the values of the fired timers.
func advance[T any](w *timewheel.Wheel[T], now time.Duration) (fired []T) {
	w.Advance(now, func(t *timewheel.Timer[T]) { fired = append(fired, t.Value) })
	return fired
}

func TestATimerFiresAtTheTickThatItsTimeIsRoundedUpTo(t *testing.T) {
	for _, c := range []struct{ when, at time.Duration }{
		{1, tick},
		{tick - 1, tick},
		{tick, tick},
		{tick + 1, 2 * tick},
		{64 * tick, 64 * tick},
		{64*tick + 1, 65 * tick},
		{1<<36*tick - 1, 1 << 36 * tick},
		{1 << 36 * tick, 1 << 36 * tick},
	} {
		w := timewheel.New[int](tick)
		timer := timewheel.Timer[int]{Value: 1}
		w.Schedule(&timer, c.when)
		assert.Empty(t, advance(w, c.at-1), "%v", c.when)
		assert.True(t, timer.Scheduled())
		assert.Equal(t, []int{1}, advance(w, c.at), "%v", c.when)
		assert.False(t, timer.Scheduled())
	}
}

func TestThePastFiresInTheNextAdvance(t *testing.T) {
	w := timewheel.New[int](tick)
	require.Empty(t, advance(w, 15*time.Millisecond))
	for i, when := range []time.Duration{15 * time.Millisecond, 12 * time.Millisecond, 0, math.MinInt64} {
		timer := timewheel.Timer[int]{Value: i}
		w.Schedule(&timer, when)
		at, ok := w.Next()
		assert.True(t, ok)
		assert.Equal(t, 15*time.Millisecond, at)
		assert.Equal(t, []int{i}, advance(w, 0), "a clock that goes backwards is ignored")
	}
	timer := timewheel.Timer[int]{}
	w.Schedule(&timer, 16*time.Millisecond)
	assert.Empty(t, advance(w, 19*time.Millisecond))
	assert.Len(t, advance(w, 20*time.Millisecond), 1)
}

func TestWhatATimerSchedulesFiresInALaterAdvance(t *testing.T) {
	w := timewheel.New[int](tick)
	var timer timewheel.Timer[int]
	w.Schedule(&timer, tick)
	n := 0
	again := func(timer *timewheel.Timer[int]) {
		n++
		w.Schedule(timer, time.Duration(n+1)*tick)
	}
	w.Advance(time.Hour, again)
	assert.Equal(t, 1, n)
	w.Advance(time.Hour, again)
	assert.Equal(t, 2, n)
}

func TestATimerCancelsAnotherThatIsDue(t *testing.T) {
	w := timewheel.New[int](tick)
	var timers [3]timewheel.Timer[int]
	for i := range timers {
		timers[i].Value = i
		w.Schedule(&timers[i], tick)
	}
	var fired []int
	w.Advance(tick, func(timer *timewheel.Timer[int]) {
		fired = append(fired, timer.Value)
		assert.Equal(t, timer.Value == 0, w.Cancel(&timers[1]))
	})
	assert.Equal(t, []int{0, 2}, fired)
	assert.Zero(t, w.Len())
}

func TestAPanicLosesNoTimer(t *testing.T) {
	w := timewheel.New[int](tick)
	var timers [3]timewheel.Timer[int]
	for i := range timers {
		timers[i].Value = i
		w.Schedule(&timers[i], time.Duration(i+1)*tick)
	}
	assert.Panics(t, func() {
		w.Advance(time.Second, func(*timewheel.Timer[int]) { panic("a callback") })
	})
	at, ok := w.Next()
	assert.True(t, ok)
	assert.Equal(t, time.Second, at)
	assert.Equal(t, 2, w.Len())
	assert.Equal(t, []int{1, 2}, advance(w, 0))
}

// If the cost of an empty stretch were proportional to its ticks, this test would not end.
func TestLongSleepCostsNothing(t *testing.T) {
	w := timewheel.New[int](1)
	var timers [64]timewheel.Timer[int]
	var want []int
	for i := range 63 {
		timers[i].Value = i
		want = append(want, i)
	}
	for i := 62; i >= 0; i-- {
		w.Schedule(&timers[i], 1<<i)
	}
	assert.Equal(t, want, advance(w, math.MaxInt64))
	_, ok := w.Next()
	assert.False(t, ok)
}

func TestTheEndOfTimeNeverComes(t *testing.T) {
	w := timewheel.New[int](tick)
	var timer timewheel.Timer[int]
	w.Schedule(&timer, math.MaxInt64)
	wakeups := 0
	for at, ok := w.Next(); ok; at, ok = w.Next() {
		require.Empty(t, advance(w, at))
		wakeups++
		require.LessOrEqual(t, wakeups, 7)
	}
	assert.Empty(t, advance(w, math.MaxInt64-1))
	assert.True(t, w.Cancel(&timer))
	assert.False(t, w.Cancel(&timer))
}

func TestATickMustBePositive(t *testing.T) {
	assert.Panics(t, func() { timewheel.New[int](0) })
	assert.Panics(t, func() { timewheel.New[int](-1) })
}

func TestSizes(t *testing.T) {
	assert.EqualValues(t, 24, unsafe.Sizeof(timewheel.Timer[struct{}]{}))
	assert.EqualValues(t, 24+64, unsafe.Sizeof(timewheel.Timer[[64]byte]{}))
	assert.Less(t, unsafe.Sizeof(timewheel.Wheel[[1024]byte]{}), uintptr(3300))
}

func TestNothingAllocates(t *testing.T) {
	w := timewheel.New[int](tick)
	timers := make([]timewheel.Timer[int], 1000)
	now := time.Duration(0)
	fire := func(timer *timewheel.Timer[int]) { w.Schedule(timer, now+time.Duration(timer.Value)*time.Second) }
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for i := range timers {
			timers[i].Value = i * i * i
			w.Schedule(&timers[i], now+time.Duration(i*i*i)*time.Second)
		}
		for i := range timers[:500] {
			w.Cancel(&timers[i])
		}
		now += 100 * 24 * time.Hour
		w.Advance(now, fire)
		_, _ = w.Next()
	}))
}
