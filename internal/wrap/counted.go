package wrap

import "strconv"

// Counted is a count with its noun: "1 finding", "2 findings".
func Counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
