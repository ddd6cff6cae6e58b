package profilefile

import (
	"fmt"
	"strings"
)

// suggest names the known word closest to an unknown one, or all if none is close.
func suggest(word string, known []string) string {
	nearest, least := "", 3 // more than two edits make another word
	if len(word) <= 2*len("instead") {
		for _, k := range known {
			distance := edits(strings.ToLower(word), strings.ToLower(k))
			if distance < least && distance < len(k) {
				nearest, least = k, distance
			}
		}
	}
	if nearest == "" {
		return ", known are " + strings.Join(known, ", ")
	}
	return fmt.Sprintf(", did you mean %s?", nearest)
}

// edits counts the letters to insert, remove or replace between two words.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
