package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestTally(t *testing.T) {
	p := plan{Seed: 1, Stock: 10, Processes: 2, Workers: 2}
	told := map[int]receipt{}
	for no := range 10 {
		r := receipt{No: no, Fate: sold, Computed: 1, Took: time.Duration(10-no) * time.Millisecond, Thought: time.Millisecond}
		if no == 3 {
			r.Fate, r.Computed, r.Err = failed, 3, "why"
		}
		told[no] = r
	}
	told[10] = receipt{No: 10, Fate: stopped, Computed: 1, Took: time.Hour}
	got := addUp(p, told)
	assert.Equal(t, 10, got.answered)
	assert.Equal(t, map[fate]int{sold: 9, failed: 1}, got.fates)
	assert.Equal(t, 12, got.computed)
	assert.Equal(t, 10*time.Millisecond, got.thought)
	assert.Equal(t, []int{5, 4}, got.perProcess)
	assert.InDelta(t, 0.8, got.fairness(), 1e-9)
	assert.Equal(t, "why", got.firstError)
	assert.Equal(t, 5*time.Millisecond, got.quantile(0.5))
	assert.Equal(t, 10*time.Millisecond, got.quantile(1))

	none := addUp(p, nil)
	assert.Zero(t, none.quantile(0.95))
	assert.Zero(t, none.fairness())
}
