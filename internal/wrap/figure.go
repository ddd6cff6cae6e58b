package wrap

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// TrimZeros removes zeros, and a point, from the end of a decimal fraction.
func TrimZeros(number string) string {
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number
}

// None is the text of an empty cell.
const None = "–"

// Share writes part of whole in percent. Only exact values are 0 % and 100 %.
func Share(part, whole int64) string {
	if whole <= 0 {
		return None
	}
	p := 100 * float64(part) / float64(whole)
	switch {
	case part == 0:
		return "0 %"
	case part == whole:
		return "100 %"
	case p < 0.01:
		return "< 0.01 %"
	case p > 99.99:
		return "> 99.99 %"
	case p < 1 || p > 99:
		return strconv.FormatFloat(p, 'f', 2, 64) + " %"
	default:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	}
}

// Duration writes a duration with three digits, or in two units.
func Duration(d time.Duration) string {
	two := func(big time.Duration, bigName string, small time.Duration, smallName string) string {
		text := fmt.Sprintf("%d %s", d/big, bigName)
		if rest := d % big / small; rest > 0 {
			text += fmt.Sprintf(" %d %s", rest, smallName)
		}
		return text
	}
	switch {
	case d < 0:
		return "−" + Duration(-d)
	case d == 0:
		return "0"
	case d < time.Millisecond:
		return strconv.FormatInt(max(d.Microseconds(), 1), 10) + " µs"
	case d < time.Second:
		return Digits(float64(d)/float64(time.Millisecond)) + " ms"
	case d < time.Minute:
		return Digits(d.Seconds()) + " s"
	case d < time.Hour:
		return two(time.Minute, "min", time.Second, "s")
	case d < 48*time.Hour:
		return two(time.Hour, "h", time.Minute, "min")
	default:
		return two(24*time.Hour, "d", time.Hour, "h")
	}
}

// Digits writes a number with three significant digits.
func Digits(v float64) string {
	return TrimZeros(strconv.FormatFloat(v, 'f', max(0, 2-int(math.Floor(math.Log10(v)))), 64))
}

// Time writes a time in UTC: the readers of a page are in several time zones.
func Time(t time.Time) string {
	if t.IsZero() {
		return None
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// Ago writes the time from t to now.
func Ago(t, now time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return None
	case d < time.Second:
		return "just now"
	default:
		return Duration(d.Truncate(time.Second)) + " ago"
	}
}
