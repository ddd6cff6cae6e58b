package torture

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A store is judged by the share of its throughput that it keeps, and by the share that plain commands keep.
func TestIsolation(t *testing.T) {
	load := func(calm, fault int64) *isolatedLoad {
		return &isolatedLoad{calm: rate{calm, 2 * time.Second}, fault: rate{fault, time.Second}}
	}
	for name, test := range map[string]struct {
		plain, store *isolatedLoad
		slowed       bool
	}{
		"all of it":                        {load(200, 100), load(200, 100), false},
		"nine in ten":                      {load(200, 100), load(200, 90), false},
		"less":                             {load(200, 100), load(200, 89), true},
		"nothing":                          {load(200, 100), load(200, 0), true},
		"a busy machine slows both":        {load(200, 50), load(200, 46), false},
		"and the store more":               {load(200, 50), load(200, 44), true},
		"a machine that is less busy then": {load(200, 150), load(200, 90), false},
		"no update at all":                 {load(200, 100), load(0, 0), true},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Result{Verdict: &Verdict{}}
			r.isolation(test.store, test.plain)
			assert.Equal(t, test.slowed, r.Slowed == 1)
			assert.Equal(t, test.slowed, r.Bad())
		})
	}
	lost := load(200, 100)
	lost.dropped.Add(1)
	r := &Result{Verdict: &Verdict{}}
	r.isolation(lost, lost)
	assert.True(t, r.Bad(), "a lock of a healthy key is lost")
}
