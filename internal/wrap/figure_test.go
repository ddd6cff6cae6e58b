package wrap_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/internal/wrap"
)

func TestShare(t *testing.T) {
	for want, share := range map[string][2]int64{
		"–": {0, 0}, "0 %": {0, 9}, "100 %": {9, 9}, "< 0.01 %": {1, 1_000_000}, "> 99.99 %": {999_999, 1_000_000},
		"0.08 %": {8, 10_000}, "99.50 %": {995, 1000}, "12.5 %": {1, 8},
	} {
		assert.Equal(t, want, wrap.Share(share[0], share[1]))
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 300 * time.Nanosecond: "1 µs", 812 * time.Microsecond: "812 µs", 6912 * time.Microsecond: "6.91 ms",
		18 * time.Millisecond: "18 ms", 123456 * time.Microsecond: "123 ms", 1240 * time.Millisecond: "1.24 s",
		time.Minute: "1 min", 125 * time.Second: "2 min 5 s", 372 * time.Minute: "6 h 12 min", 76 * time.Hour: "3 d 4 h",
		-5 * time.Second: "−5 s",
	} {
		assert.Equal(t, want, wrap.Duration(d), d.String())
	}
}

func TestTimes(t *testing.T) {
	at := time.Date(2026, 3, 2, 15, 0, 0, 0, time.FixedZone("", 3600))
	assert.Equal(t, "2026-03-02 14:00:00 UTC", wrap.Time(at))
	assert.Equal(t, "–", wrap.Time(time.Time{}))
	assert.Equal(t, "41 min ago", wrap.Ago(at, at.Add(41*time.Minute)))
	assert.Equal(t, "just now", wrap.Ago(at, at))
	assert.Equal(t, "–", wrap.Ago(time.Time{}, at))
}
