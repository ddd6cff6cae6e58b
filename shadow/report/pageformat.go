package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// pageNone stands where there is nothing to say: an empty cell reads like a mistake.
const pageNone = "–"

// pagePlural writes a number with its noun, which takes an s unless it is one.
func pagePlural[N ~int | ~int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ss") {
		noun += "e"
	}
	return grouped(int64(n)) + " " + noun + "s"
}

// pageShare writes part of whole in percent. It never rounds something to nothing, nor
// almost all to all.
func pageShare(part, whole int64) string {
	if whole <= 0 {
		return pageNone
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

// pagePercent writes what is in percent already.
func pagePercent(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) + " %" }

// pageDuration writes a duration with three digits, in the unit that suits it.
func pageDuration(d time.Duration) string {
	switch {
	case d < 0:
		return "−" + pageDuration(-d)
	case d == 0:
		return "0"
	case d < time.Millisecond:
		return strconv.FormatInt(max(d.Microseconds(), 1), 10) + " µs"
	case d < time.Second:
		return pageDigits(float64(d)/float64(time.Millisecond)) + " ms"
	case d < time.Minute:
		return pageDigits(d.Seconds()) + " s"
	case d < time.Hour:
		return pageTwo(d, time.Minute, "min", time.Second, "s")
	case d < 48*time.Hour:
		return pageTwo(d, time.Hour, "h", time.Minute, "min")
	default:
		return pageTwo(d, 24*time.Hour, "d", time.Hour, "h")
	}
}

func pageDigits(v float64) string {
	digits := max(0, 2-int(math.Floor(math.Log10(v))))
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

func pageTwo(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	text := fmt.Sprintf("%d %s", d/big, bigName)
	if rest := d % big / small; rest > 0 {
		text += fmt.Sprintf(" %d %s", rest, smallName)
	}
	return text
}

// pageTime writes a moment, in UTC: those who read the page sit in several zones.
func pageTime(t time.Time) string {
	if t.IsZero() {
		return pageNone
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// pageAgo writes how long before now something was.
func pageAgo(t, now time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return pageNone
	case d < time.Second:
		return "just now"
	default:
		return pageDuration(d.Truncate(time.Second)) + " ago"
	}
}

// pageOr returns text, or what stands for none.
func pageOr(text string) string {
	if text == "" {
		return pageNone
	}
	return text
}

// pageExpiry writes a [time.Duration] in text as one for people; any other text stays.
func pageExpiry(text string) string {
	if d, err := time.ParseDuration(text); err == nil {
		return pageDuration(d)
	}
	return text
}
