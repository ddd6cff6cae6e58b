package report

import (
	"fmt"
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
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
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
	switch {
	case domain == "":
		return name
	case name == "":
		return domain
	default:
		return domain + "/" + name
	}
}
