package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// spans is a set of positive numbers, encoded as "1-57,59": a few bytes for thousands of event
// numbers, if few are missing.
type spans []span

type span struct{ from, to int }

// add adds n, and reports whether it was absent.
func (s *spans) add(n int) bool {
	list := *s
	// at is the first span that ends at n-1 or later, the only one that can contain or be
	// extended by n.
	at, _ := slices.BinarySearchFunc(list, n-1, func(p span, n int) int { return p.to - n })
	switch {
	case at == len(list) || n < list[at].from-1:
		*s = slices.Insert(list, at, span{n, n})
	case n == list[at].from-1:
		list[at].from = n
	case n <= list[at].to:
		return false
	default: // right after it
		list[at].to = n
		if at+1 < len(list) && list[at+1].from == n+1 {
			list[at].to = list[at+1].to
			*s = slices.Delete(list, at+1, at+2)
		}
	}
	return true
}

// has reports whether n is in the set.
func (s spans) has(n int) bool {
	at, _ := slices.BinarySearchFunc(s, n, func(p span, n int) int { return p.to - n })
	return at < len(s) && s[at].from <= n
}

// MarshalText implements encoding.TextMarshaler.
func (s spans) MarshalText() ([]byte, error) {
	var out []byte
	for i, p := range s {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, int64(p.from), 10)
		if p.to > p.from {
			out = strconv.AppendInt(append(out, '-'), int64(p.to), 10)
		}
	}
	return out, nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *spans) UnmarshalText(text []byte) error {
	*s = nil
	if len(text) == 0 {
		return nil
	}
	for part := range strings.SplitSeq(string(text), ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, err := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		last := 0
		if len(*s) > 0 {
			last = (*s)[len(*s)-1].to
		}
		if err != nil || err2 != nil || a <= last || b < a {
			return fmt.Errorf("not a set of numbers at %q", part)
		}
		*s = append(*s, span{a, b})
	}
	return nil
}
