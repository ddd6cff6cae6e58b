package shadow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A copy has what had ended before it was begun, and perhaps what ended while it was made
// and leads to what it holds: over several calls, in whatever order they came.
func TestWhatACopyHas(t *testing.T) {
	began := time.Now()
	at := func(was, is byte, after time.Duration) *item {
		return &item{call: &call{ended: began.Add(after)}, was: digest{was}, is: digest{is}}
	}
	c := copied{began: began, ended: began.Add(time.Second), value: digest{5}}
	assert.True(t, c.covers(at(1, 2, -1)))
	assert.False(t, c.covers(at(1, 2, 0)), "it may have ended later")
	before, last := at(3, 4, 0), at(4, 5, time.Second)
	elsewhere, later := at(7, 8, 0), at(4, 5, time.Second+1)
	assert.Equal(t, map[*item]bool{before: true, last: true}, c.leadingTo([]*item{before, elsewhere, later, last}))
	assert.Empty(t, c.leadingTo([]*item{before, elsewhere}), "what leads to what it holds is missing")
}

// An eighth of the updates are clocked, in no pattern that calls in turn could fall into.
func TestClockedCalls(t *testing.T) {
	const calls = 80_000
	for turn := uint64(2); turn <= 64; turn++ {
		n := 0
		for i := range uint64(calls) {
			if clocked(4097 + i*turn) {
				n++
			}
		}
		assert.InDelta(t, 0.125, float64(n)/calls, 0.01, "every call of %d", turn)
	}
	assert.True(t, clocked(4096), "of the first ones, all are")
}
