package report

import (
	"cmp"
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
	return wrap.TrimZeros(digits) + "e-" + strings.TrimLeft(exponent, "0")
}

func operationName(domain, name string) string {
	if domain == "" || name == "" {
		return domain + name
	}
	return domain + "/" + name
}

// pagePercent writes a number of percent.
func pagePercent(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) + " %" }

func pageOr(text string) string { return cmp.Or(text, wrap.None) }

// pageExpiry rewrites the text of a [time.Duration]. Any other text stays.
func pageExpiry(text string) string {
	if d, err := time.ParseDuration(text); err == nil {
		return wrap.Duration(d)
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
		return wrap.Digits(float64(n)/(1<<10)) + " KiB"
	default:
		return wrap.Digits(float64(n)/(1<<20)) + " MiB"
	}
}

// pageComparator writes a known name with a capital letter.
func pageComparator(c Comparator) string {
	if slices.Contains(Comparators(), c) {
		return strings.ToUpper(string(c[:1])) + string(c[1:])
	}
	return string(c)
}
