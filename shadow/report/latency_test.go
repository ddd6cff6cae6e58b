package report_test

import (
	"encoding/json"
	"hash/maphash"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/shadow/report"
)

func TestLatency(t *testing.T) {
	var l report.Latency
	assert.Zero(t, l.Quantile(0.5))
	assert.Zero(t, l.Rank(1))
	for i := range 1000 {
		l.Record(time.Duration(i+1) * time.Millisecond)
	}
	assert.InEpsilon(t, 500*time.Millisecond, l.Quantile(0.5), 0.01)
	assert.InEpsilon(t, 990*time.Millisecond, l.Rank(990), 0.01)
	assert.InEpsilon(t, time.Millisecond, l.Rank(1), 0.01)
	assert.Zero(t, l.Rank(1001))
	l.Record(time.Hour)
	l.Record(0)
	assert.EqualValues(t, 1002, l.Count())
	assert.InEpsilon(t, time.Minute, l.Rank(1002), 0.01)

	text, err := json.Marshal(l)
	require.NoError(t, err)
	assert.Less(t, len(text), 2000)
	var again report.Latency
	require.NoError(t, json.Unmarshal(text, &again))
	again.Add(l)
	var empty report.Latency
	empty.Add(again)
	assert.EqualValues(t, 2004, empty.Count())
	assert.EqualValues(t, 1002, l.Count(), "what was added stays as it was")
	assert.InEpsilon(t, l.Quantile(0.9), empty.Quantile(0.9), 0.01)
	require.Error(t, json.Unmarshal([]byte(`"bm8gaGlzdG9ncmFt"`), &again))
}

// rank is exact: bounds of quantiles would be wrong by one rank otherwise.
func TestRankIsExact(t *testing.T) {
	var l report.Latency
	for count := range 250 { // the histogram is exact below that
		l.Record(time.Duration(count+1) * time.Microsecond)
		for n := range count + 1 {
			require.Equal(t, time.Duration(n+1)*time.Microsecond, l.Rank(int64(n+1)), "of %d", count+1)
		}
	}
	many := l.Clone()
	for range 20 {
		many.Add(many.Clone()) // 250 million
	}
	each := many.Count() / 250
	for n := range int64(250) {
		require.Equal(t, time.Duration(n+1)*time.Microsecond, many.Rank(n*each+1))
		require.Equal(t, time.Duration(n+1)*time.Microsecond, many.Rank((n+1)*each))
	}
}

func TestKeySketch(t *testing.T) {
	seed := maphash.MakeSeed()
	var a, b report.KeySketch
	assert.Zero(t, a.Count())
	for i := range 6000 {
		hash := maphash.Comparable(seed, i)
		if i < 4000 {
			a.Add(hash)
			a.Add(hash)
		}
		if i >= 2000 {
			b.Add(hash)
		}
	}
	assert.InEpsilon(t, 4000, a.Count(), 0.03)
	a.Merge(b)
	assert.InEpsilon(t, 6000, a.Count(), 0.03)
	a.Merge(nil)
	assert.InEpsilon(t, 6000, a.Count(), 0.03)
}
