package torture

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each process flips every two seconds, and at any time keys move in both directions.
func TestFlips(t *testing.T) {
	for seed := range uint64(100) {
		flipped := map[int]int{}
		var before [processes]bool
		for now := time.Hour; now < time.Hour+8*flipEvery; now += 10 * time.Millisecond {
			forward := 0
			for process := range processes {
				is := flipsOf(seed, process).forward(now)
				if is {
					forward++
				}
				if is != before[process] {
					flipped[process]++
				}
				before[process] = is
			}
			require.Contains(t, []int{1, 2, 3}, forward, "seed %d at %v", seed, now)
		}
		for process := range processes {
			assert.InDelta(t, 8, flipped[process], 1, "process %d", process)
		}
	}
}

// A fault strikes a store that it fits, either one if it fits both.
func TestFaultStrikesOneStore(t *testing.T) {
	old, next := &Environment{has: ownServers}, &Environment{has: ownServers | codis}
	c := &injection{Environment: &Environment{sides: []*Environment{old, next}}, rng: rand.New(rand.NewPCG(1, 1))}
	struck := map[*Environment]int{}
	for range 100 {
		assert.Same(t, next, c.at(codis).Environment)
		struck[c.at(ownServers).Environment]++
	}
	assert.Greater(t, struck[old], 30)
	assert.Greater(t, struck[next], 30)
	alone := &injection{Environment: old}
	assert.Same(t, alone, alone.at(ownServers))
}

// A cell in which keys moved in one direction only fails.
func TestMovesBackAndForth(t *testing.T) {
	for name, tc := range map[string]struct {
		hops map[string]int
		bad  bool
	}{
		"none":       {nil, true},
		"forward":    {map[string]int{"a": 1, "b": 1}, true},
		"both ways":  {map[string]int{"a": 1, "b": 2}, false},
		"many times": {map[string]int{"a": 17}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Result{Verdict: &Verdict{}}
			r.moves(&stored{hops: tc.hops})
			assert.Equal(t, tc.bad, r.Bad())
		})
	}
	r := &Result{Verdict: &Verdict{}}
	r.moves(&stored{hops: map[string]int{"a": 2}, twice: []string{"a"}})
	assert.True(t, r.Bad(), "a value in both stores")
}
