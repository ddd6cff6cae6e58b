package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// grouped writes a count for people: 29,956.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// counted is a count with its noun: "1 call", "2 calls".
func counted[N ~int | ~int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ss") {
		noun += "e"
	}
	return grouped(int64(n)) + " " + noun + "s"
}

// percentage writes a share, 0 to 1, with what digits it takes: 0.08 %.
func percentage(share float64) string { return strconv.FormatFloat(100*share, 'g', 3, 64) + " %" }

// scientific writes a rate: 1.09e-4.
func scientific(rate float64) string {
	if rate >= 0.01 || rate <= 0 {
		return strconv.FormatFloat(rate, 'g', 3, 64)
	}
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(rate, 'e', 2, 64), "e-")
	if strings.Contains(digits, ".") {
		digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
	}
	return digits + "e-" + strings.TrimLeft(exponent, "0")
}

// took writes a duration of a call, with three digits: 2.15 ms.
func took(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
	return milliseconds(d) + " ms"
}

// milliseconds is took where the unit is said elsewhere.
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

// operationName is how texts name an operation.
func operationName(domain, name string) string {
	if domain == "" || name == "" {
		return domain + name
	}
	return domain + "/" + name
}

// pageNone stands where there is nothing to say: an empty cell reads like a mistake.
const pageNone = "–"

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

// pageCounts lists counts by name, the largest first.
func pageCounts(prefix string, counts map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	if len(names) == 0 {
		return ""
	}
	parts := make([]string, 0, len(names))
	for _, name := range names[:min(len(names), 8)] {
		parts = append(parts, name+" "+grouped(counts[name]))
	}
	if more := len(names) - 8; more > 0 {
		parts = append(parts, grouped(int64(more))+" more")
	}
	return prefix + strings.Join(parts, ", ")
}

func pageBytes(n int64) string {
	switch {
	case n < 1<<10:
		return counted(n, "byte")
	case n < 1<<20:
		return pageDigits(float64(n)/(1<<10)) + " KiB"
	default:
		return pageDigits(float64(n)/(1<<20)) + " MiB"
	}
}

// firstOf lists three of them, and says how many more there are.
func firstOf(all []string) string {
	text := strings.Join(all[:min(len(all), 3)], "; ")
	if more := len(all) - 3; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// pageComparator is the name as a word of a sentence.
func pageComparator(c Comparator) string {
	if slices.Contains(append(Comparators(), Verifier), c) {
		return strings.ToUpper(string(c[:1])) + string(c[1:])
	}
	return string(c)
}
