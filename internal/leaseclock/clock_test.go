package leaseclock

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestClock(t *testing.T) {
	const s = time.Second
	type reading struct{ monotonic, wall, want time.Duration }
	for name, readings := range map[string][]reading{
		"no jump":                 {{s, s, s}, {5 * s, 5 * s, 5 * s}},
		"suspend":                 {{s, s, s}, {2 * s, 32 * s, 32 * s}, {3 * s, 33 * s, 33 * s}},
		"two suspends":            {{s, 11 * s, 11 * s}, {2 * s, 22 * s, 22 * s}},
		"step back":               {{s, -3599 * s, s}, {2 * s, -3598 * s, 2 * s}},
		"step back, then suspend": {{s, -3599 * s, s}, {2 * s, -3568 * s, 32 * s}},
		"step back and forward":   {{s, -9 * s, s}, {2 * s, 2 * s, 12 * s}},
		"reading from before":     {{s, s, s}, {3 * s, 33 * s, 33 * s}, {2 * s, 2 * s, 2 * s}, {4 * s, 34 * s, 34 * s}},
		"clocks read apart":       {{s, s + 4*time.Millisecond, s}, {2 * s, 2*s - 4*time.Millisecond, 2 * s}},
		"small steps add up":      {{s, s + 4*time.Millisecond, s}, {2 * s, 2*s + 8*time.Millisecond, 2*s + 8*time.Millisecond}},
		"small steps back add up": {
			{s, s - 4*time.Millisecond, s}, {2 * s, 2*s - 8*time.Millisecond, 2 * s}, {3 * s, 13*s - 8*time.Millisecond, 13 * s},
		},
		"suspend before any other": {{0, 10 * s, 10 * s}},
	} {
		c := New()
		for i, r := range readings {
			assert.Equal(t, r.want, c.read(r.monotonic, r.wall), "%s: reading %d", name, i)
		}
	}
}

// A time from before a jump stays before it, so that a lease does not begin after the suspend in which its request was
// answered.
func TestAtBeforeAJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		time.Sleep(time.Second)
		sent, began := time.Now(), c.Time()
		c.Step(10 * time.Second)
		time.Sleep(time.Second)
		assert.Equal(t, 12*time.Second, c.Now())
		assert.Equal(t, time.Second, c.At(sent))
		assert.Equal(t, 12*time.Second, c.At(time.Now()))
		assert.Equal(t, 11*time.Second, c.Time().Sub(began))
	})
}

// Concurrent readings count a jump once.
func TestConcurrentReadings(t *testing.T) {
	c := New()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				c.Now()
			}
		})
	}
	c.Step(time.Hour)
	all.Wait()
	now := c.Now()
	assert.Greater(t, now, time.Hour)
	assert.Less(t, now, time.Hour+time.Hour/2)
}

func BenchmarkNow(b *testing.B) {
	c := New()
	for b.Loop() {
		c.Now()
	}
}
