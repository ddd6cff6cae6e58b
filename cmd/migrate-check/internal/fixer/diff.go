package fixer

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Diff returns a unified diff of two versions of a file, for git apply and patch -p1; "" if they are equal.
func Diff(name string, before, after []byte) string {
	if bytes.Equal(before, after) {
		return ""
	}
	end := ""
	if strings.ContainsRune(name, ' ') {
		end = "\t" // patch takes the text behind a space for a time
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- a/%s%s\n+++ b/%[1]s%[2]s\n", name, end)
	const around = 3
	all := script(lines(before), lines(after))
	for at := 0; at < len(all); at++ {
		if all[at].op == ' ' {
			continue
		}
		start, end := max(0, at-around), at
		for same := 0; end < len(all) && same <= 2*around; end++ {
			if same++; all[end].op != ' ' {
				same, at = 0, end
			}
		}
		end = min(at+1+around, len(all))
		hunk(&b, all, start, end)
	}
	return b.String()
}

// line is a line of a diff: op is ' ', '-' or '+'.
type line struct {
	op   byte
	text string
}

func lines(text []byte) []string {
	return slices.Collect(strings.Lines(string(text)))
}

func hunk(b *strings.Builder, all []line, start, end int) {
	place := func(op byte) string {
		count := func(part []line) (n int) {
			for _, l := range part {
				if l.op == ' ' || l.op == op {
					n++
				}
			}
			return n
		}
		before, n := count(all[:start]), count(all[start:end])
		if n > 0 {
			before++
		}
		return fmt.Sprintf("%d,%d", before, n)
	}
	fmt.Fprintf(b, "@@ -%s +%s @@\n", place('-'), place('+'))
	for _, l := range all[start:end] {
		b.WriteByte(l.op)
		b.WriteString(l.text)
		if !strings.HasSuffix(l.text, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// script leads from one list of lines to another. Where they differ, it goes on at the nearest line that both have,
// which suits small edits.
func script(a, b []string) (out []line) {
	for len(a) > 0 || len(b) > 0 {
		gone, added := nearest(a, b)
		for _, text := range a[:gone] {
			out = append(out, line{'-', text})
		}
		for _, text := range b[:added] {
			out = append(out, line{'+', text})
		}
		if a, b = a[gone:], b[added:]; len(a) > 0 {
			out = append(out, line{' ', a[0]})
			a, b = a[1:], b[1:]
		}
	}
	return out
}

// nearest returns how many lines lie before the nearest common line; all of them if there is none.
func nearest(a, b []string) (gone, added int) {
	for sum := range len(a) + len(b) {
		for gone := max(0, sum-len(b)+1); gone <= sum && gone < len(a); gone++ {
			if a[gone] == b[sum-gone] {
				return gone, sum - gone
			}
		}
	}
	return len(a), len(b)
}
