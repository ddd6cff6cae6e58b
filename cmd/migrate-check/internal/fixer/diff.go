package fixer

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
)

// Diff is a unified diff of two versions of a file, as git apply and patch -p1 take it; nothing if
// they are the same.
func Diff(name string, before, after []byte) string {
	if bytes.Equal(before, after) {
		return ""
	}
	var b strings.Builder
	end := ""
	if strings.ContainsRune(name, ' ') {
		end = "\t" // else patch takes what is behind the space for a time
	}
	fmt.Fprintf(&b, "--- a/%s%s\n+++ b/%[1]s%[2]s\n", name, end)
	lines := script(lines(before), lines(after))
	const around = 3
	for at := 0; at < len(lines); {
		if lines[at].op == ' ' {
			at++
			continue
		}
		start, end, same := max(0, at-around), at, 0
		for end < len(lines) && same <= 2*around {
			if lines[end].op == ' ' {
				same++
			} else {
				same = 0
			}
			end++
		}
		end -= max(0, same-around)
		hunk(&b, lines, start, end)
		at = end
	}
	return b.String()
}

// line is a line of a diff: op is ' ', '-' or '+'.
type line struct {
	op   byte
	text string
}

func lines(text []byte) []string {
	all := strings.SplitAfter(string(text), "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

func hunk(b *strings.Builder, all []line, start, end int) {
	count := func(part []line, op byte) (n int) {
		for _, l := range part {
			if l.op == ' ' || l.op == op {
				n++
			}
		}
		return n
	}
	place := func(op byte) string {
		before, n := count(all[:start], op), count(all[start:end], op)
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

// script is the shortest way from one list of lines to another, as Myers found it.
func script(a, b []string) (out []line) {
	n, m := len(a), len(b)
	furthest := map[int]int{1: 0}
	var trace []map[int]int
	for d := 0; ; d++ {
		kept := make(map[int]int, len(furthest))
		maps.Copy(kept, furthest)
		trace = append(trace, kept)
		for k := -d; k <= d; k += 2 {
			x := furthest[k-1] + 1
			if k == -d || k != d && furthest[k-1] < furthest[k+1] {
				x = furthest[k+1]
			}
			for x < n && x-k < m && a[x] == b[x-k] {
				x++
			}
			furthest[k] = x
			if x >= n && x-k >= m {
				return walk(a, b, trace)
			}
		}
	}
}

// walk follows the way back.
func walk(a, b []string, trace []map[int]int) []line {
	var out []line
	x, y := len(a), len(b)
	for d := len(trace) - 1; d >= 0; d-- {
		v, k := trace[d], x-y
		from := k - 1
		if k == -d || k != d && v[k-1] < v[k+1] {
			from = k + 1
		}
		px := v[from]
		py := px - from
		for x > px && y > py && x > 0 && y > 0 {
			x, y = x-1, y-1
			out = append(out, line{' ', a[x]})
		}
		if d == 0 {
			break
		}
		if x == px {
			y--
			out = append(out, line{'+', b[y]})
		} else {
			x--
			out = append(out, line{'-', a[x]})
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}
