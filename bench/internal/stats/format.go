package stats

import (
	"math"
	"strconv"
	"strings"
)

// Short formats a number with three significant digits and grouped thousands.
func Short(v float64) string {
	switch abs := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "-"
	case abs >= 99.95:
		return group(strconv.FormatFloat(math.Round(v), 'f', 0, 64))
	case abs >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case abs == 0:
		return "0"
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func group(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
