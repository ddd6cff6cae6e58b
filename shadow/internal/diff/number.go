package diff

import (
	"strconv"
	"strings"
)

// chunk digits of an exponent fit an int64 with room for an addition.
const (
	chunkDigits = 18
	chunk       = 1_000_000_000_000_000_000
)

// decimal returns the normal form of a JSON number: digits without zeros at either end, and
// an exponent, as in "15e-1" for 1.50. It expands nothing, so 1e999999999 stays short.
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
	shift := int64(len(digits) - len(significant) - len(fraction))
	return sign + significant + "e" + addTo(exponent, shift)
}

// addTo adds n to a decimal integer of any length. The integer may have a sign and leading
// zeros.
func addTo(integer string, n int64) string {
	negative := strings.HasPrefix(integer, "-")
	integer = strings.TrimLeft(strings.TrimLeft(integer, "+-"), "0")
	if len(integer) <= chunkDigits {
		value, _ := strconv.ParseInt("0"+integer, 10, 64)
		if negative {
			value = -value
		}
		return strconv.FormatInt(value+n, 10)
	}
	// |n| is at most the length of a document, so the sign stays as it is.
	if negative {
		n = -n
	}
	high, low := integer[:len(integer)-chunkDigits], integer[len(integer)-chunkDigits:]
	value, _ := strconv.ParseInt(low, 10, 64)
	switch value += n; {
	case value < 0:
		value, high = value+chunk, carry(high, '0', '9', -1)
	case value >= chunk:
		value, high = value-chunk, carry(high, '9', '0', 1)
	}
	low = strconv.FormatInt(value, 10)
	sum := high + strings.Repeat("0", chunkDigits-len(low)) + low
	if sum = strings.TrimLeft(sum, "0"); negative {
		sum = "-" + sum
	}
	return sum
}

// carry adds by, 1 or -1, to the last digit. A digit that equals full becomes empty and
// passes the carry on.
func carry(digits string, full, empty byte, by int) string {
	b := []byte(digits)
	i := len(b) - 1
	for ; i >= 0 && b[i] == full; i-- {
		b[i] = empty
	}
	if i < 0 {
		return "1" + string(b) // only upwards: a decrement never meets a zero
	}
	b[i] = byte(int(b[i]) + by)
	return string(b)
}
