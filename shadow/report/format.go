package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/wrap"
)

// percentage writes a share, 0 to 1, with up to three digits: 0.08 %.
func percentage(share float64) string { return strconv.FormatFloat(100*share, 'g', 3, 64) + " %" }

// scientific writes a rate: 1.09e-4.
func scientific(rate float64) string {
	if rate >= 0.01 || rate <= 0 {
		return strconv.FormatFloat(rate, 'g', 3, 64)
	}
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(rate, 'e', 2, 64), "e-")
	return trimZeros(digits) + "e-" + strings.TrimLeft(exponent, "0")
}

func trimZeros(number string) string {
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number
}

// took writes the duration of a call with three digits: 2.15 ms.
func took(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
	return milliseconds(d) + " ms"
}

func milliseconds(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case ms >= 100:
		return fmt.Sprintf("%.0f", ms)
	case ms >= 10:
		return fmt.Sprintf("%.1f", ms)
	default:
		return fmt.Sprintf("%.2f", ms)
	}
}

func operationName(domain, name string) string {
	if domain == "" || name == "" {
		return domain + name
	}
	return domain + "/" + name
}

// pageNone is the text of an empty cell.
const pageNone = "–"

// pageShare writes part of whole in percent. Only exact values are 0 % and 100 %.
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

// pagePercent writes a number of percent.
func pagePercent(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) + " %" }

// pageDuration writes a duration with three digits, or in two units.
func pageDuration(d time.Duration) string {
	two := func(big time.Duration, bigName string, small time.Duration, smallName string) string {
		text := fmt.Sprintf("%d %s", d/big, bigName)
		if rest := d % big / small; rest > 0 {
			text += fmt.Sprintf(" %d %s", rest, smallName)
		}
		return text
	}
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
		return two(time.Minute, "min", time.Second, "s")
	case d < 48*time.Hour:
		return two(time.Hour, "h", time.Minute, "min")
	default:
		return two(24*time.Hour, "d", time.Hour, "h")
	}
}

// pageDigits writes a number with three significant digits.
func pageDigits(v float64) string {
	return trimZeros(strconv.FormatFloat(v, 'f', max(0, 2-int(math.Floor(math.Log10(v)))), 64))
}

// pageTime writes a time in UTC: the readers of a page are in several time zones.
func pageTime(t time.Time) string {
	if t.IsZero() {
		return pageNone
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// pageAgo writes the time from t to now.
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

func pageOr(text string) string { return cmp.Or(text, pageNone) }

// pageExpiry rewrites the text of a [time.Duration]. Any other text stays.
func pageExpiry(text string) string {
	if d, err := time.ParseDuration(text); err == nil {
		return pageDuration(d)
	}
	return text
}

// pageCounts lists counts by name, the largest first.
func pageCounts(prefix string, counts map[string]int64) string {
	const most = 8
	names := sortedKeys(counts)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	var parts []string
	for _, name := range names[:min(len(names), most)] {
		parts = append(parts, name+" "+wrap.Grouped(counts[name]))
	}
	if more := len(names) - most; more > 0 {
		parts = append(parts, wrap.Grouped(int64(more))+" more")
	}
	if len(parts) == 0 {
		return ""
	}
	return prefix + strings.Join(parts, ", ")
}

func pageBytes(n int64) string {
	switch {
	case n < 1<<10:
		return wrap.Counted(n, "byte")
	case n < 1<<20:
		return pageDigits(float64(n)/(1<<10)) + " KiB"
	default:
		return pageDigits(float64(n)/(1<<20)) + " MiB"
	}
}

// firstOf lists three texts, and counts the others.
func firstOf(all []string) string {
	text := strings.Join(all[:min(len(all), 3)], "; ")
	if more := len(all) - 3; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// pageComparator writes a known name with a capital letter.
func pageComparator(c Comparator) string {
	if slices.Contains(append(Comparators(), Verifier), c) {
		return strings.ToUpper(string(c[:1])) + string(c[1:])
	}
	return string(c)
}
