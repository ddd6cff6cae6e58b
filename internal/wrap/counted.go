package wrap

import (
	"fmt"
	"strconv"
	"strings"
)

// Grouped writes a number with a comma between its thousands: 29,956.
func Grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Counted writes a number with its noun: "1 file", "1,200 files", "2 processes".
func Counted[N ~int | ~int64](n N, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "ss"):
		noun += "es"
	default:
		noun += "s"
	}
	return Grouped(int64(n)) + " " + noun
}

// First lists three texts, and counts the others.
func First(all []string) string {
	text := strings.Join(all[:min(len(all), 3)], "; ")
	if more := len(all) - 3; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
