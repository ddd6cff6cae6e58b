package diff

import (
	"cmp"
	"strconv"
	"strings"
)

// decimal returns the normal form of a JSON number: digits without zeros at either end, and
// an exponent, as in "15e-1" for 1.50. It expands nothing, so 1e999999999 stays short. A
// number with an exponent beyond an int32 stays as it is written.
func decimal(literal string) string {
	sign := ""
	if literal[0] == '-' {
		sign, literal = "-", literal[1:]
	}
	mantissa, exponent := literal, ""
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		mantissa, exponent = literal[:i], literal[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0" // -0 too, and 0e9
	}
	significant := strings.TrimRight(digits, "0")
	power, err := strconv.ParseInt(cmp.Or(exponent, "0"), 10, 32)
	if err != nil {
		return sign + literal
	}
	power += int64(len(digits) - len(significant) - len(fraction))
	return sign + significant + "e" + strconv.FormatInt(power, 10)
}
