package fixer_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/fixer"
)

// Applying a diff to the first text gives the second.
func TestDiffReproducesTarget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n"}), 0, 30).Draw(t, "lines"), "")
		})
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		require.Equal(t, after, follow(t, before, fixer.Diff("x", []byte(before), []byte(after))))
	})
}

func TestDiffOfEqualFilesIsEmpty(t *testing.T) {
	require.Empty(t, fixer.Diff("x", []byte("a\n"), []byte("a\n")))
	require.Contains(t, fixer.Diff("x", []byte("a"), []byte("b\n")), "-a\n\\ No newline at end of file\n+b\n")
}

// follow applies a diff, and checks its context lines.
func follow(t require.TestingT, before, diff string) string {
	old, at := strings.SplitAfter(before, "\n"), 0
	var out strings.Builder
	for i, line := range strings.SplitAfter(diff, "\n") {
		switch {
		case i < 2 || line == "":
		case strings.HasPrefix(line, "@@"):
			start := 0
			for _, c := range strings.TrimPrefix(line, "@@ -") {
				if c < '0' || c > '9' {
					break
				}
				start = 10*start + int(c-'0')
			}
			if !strings.Contains(line, ",0 +") {
				start-- // the number of an empty range is that of the line before
			}
			for ; at < start; at++ {
				out.WriteString(old[at])
			}
		case line[0] == '+':
			out.WriteString(line[1:])
		default:
			require.Equal(t, old[at], line[1:])
			if line[0] == ' ' {
				out.WriteString(old[at])
			}
			at++
		}
	}
	for ; at < len(old); at++ {
		out.WriteString(old[at])
	}
	return out.String()
}
