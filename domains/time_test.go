package domains_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
)

const lastTime domains.Time = 253402300799999 // 9999-12-31T23:59:59.999Z

func TestTimeForms(t *testing.T) {
	for moment, want := range map[domains.Time]string{
		0: "never", 1: "1970-01-01T00:00:00.001Z", 1795165200123: "2026-11-20T09:00:00.123Z", lastTime: "9999-12-31T23:59:59.999Z",
	} {
		assert.Equal(t, want, moment.String())
		assert.True(t, moment.Valid(), want)
	}
	for _, moment := range []domains.Time{lastTime + 1, -1, math.MaxInt64, math.MinInt64} {
		assert.False(t, moment.Valid(), int64(moment))
	}
}

func TestZeroTime(t *testing.T) {
	assert.Zero(t, domains.At(time.Time{}))
	assert.True(t, domains.Time(0).Time().IsZero())
	assert.Zero(t, domains.At(now).Sub(0))
	assert.Zero(t, domains.Time(0).Sub(domains.At(now)))
}

func aMoment(t *rapid.T, label string) time.Time {
	return time.Unix(rapid.Int64Range(1, int64(lastTime/1000)).Draw(t, label), rapid.Int64Range(0, 999_999_999).Draw(t, label+" ns"))
}

// Times have the order of their moments, to the millisecond, in every time zone and with a monotonic reading.
func TestTimesKeepTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := aMoment(t, "a"), aMoment(t, "b")
		if a.After(b) {
			a, b = b, a
		}
		require.LessOrEqual(t, domains.At(a), domains.At(b))
		require.Equal(t, domains.At(a), domains.At(a.In(time.FixedZone("x", 3600))))
		require.True(t, domains.At(a).Time().Equal(a.Truncate(time.Millisecond)))
		require.Equal(t, time.UTC, domains.At(a).Time().Location())
		require.True(t, domains.At(a).Valid())
		require.Equal(t, domains.At(a), domains.At(domains.At(a).Time()))
	})
	assert.Equal(t, domains.At(now), opAt("a").Time())
	real := time.Now()
	assert.Equal(t, domains.At(real.Round(0)), domains.At(real))
}

// Add and Sub are each other's inverse, in whole milliseconds.
func TestTimeAddAndSub(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := domains.Time(rapid.Int64Range(1, 1<<50).Draw(t, "from"))
		ms := rapid.Int64Range(0, int64(math.MaxInt64/time.Millisecond)).Draw(t, "ms")
		d := time.Duration(ms) * time.Millisecond
		require.Equal(t, d, from.Add(d).Sub(from))
		require.Equal(t, -d, from.Sub(from.Add(d)))
	})
	assert.Equal(t, domains.Time(5), domains.Time(5).Add(999*time.Microsecond))
	assert.Equal(t, time.Duration(math.MaxInt64), lastTime.Sub(1), "longer than a Duration: the longest that there is")
	assert.Equal(t, time.Duration(math.MinInt64), domains.Time(1).Sub(lastTime))
}
