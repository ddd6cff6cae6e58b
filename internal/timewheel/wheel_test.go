package timewheel_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"

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

func TestWheelMatchesSortedList(t *testing.T) {
	fired := 0
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { fired += run(t, randomScript(seed, 1500)).fired })
	}
	assert.Greater(t, fired, 10_000, "the scripts hardly fire anything")
}

// Each timer fires once, in its tick.
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

func TestPanicLosesNoTimer(t *testing.T) {
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

func TestTickMustBePositive(t *testing.T) {
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
