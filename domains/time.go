package domains

import "time"

// Time is a stored time: milliseconds since 1970, UTC. Zero means not yet. Times compare by < and >, and max
// returns the later one.
type Time int64

// maxTime is the end of the year 9999: later times have no RFC 3339 form.
const maxTime Time = 253402300799999

// At returns t as a Time, truncated to milliseconds.
func At(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixMilli())
}

// Time returns t in UTC, and the zero time.Time if t is zero.
func (t Time) Time() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(t)).UTC()
}

// Add returns t plus d, in whole milliseconds.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Milliseconds()) }

// Sub returns t minus u, at most the longest [time.Duration]; 0 if either is zero.
func (t Time) Sub(u Time) time.Duration {
	if t == 0 || u == 0 {
		return 0
	}
	return t.Time().Sub(u.Time())
}

// Valid reports whether t is zero or from 1970 to 9999.
func (t Time) Valid() bool { return t >= 0 && t <= maxTime }

// String returns t in RFC 3339, in UTC, and "never" for zero.
func (t Time) String() string {
	if t == 0 {
		return "never"
	}
	return t.Time().Format("2006-01-02T15:04:05.000Z07:00")
}
