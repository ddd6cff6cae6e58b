package lexical_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/lexical"
	"github.com/unwatch/unwatch/proxycompat"
)

// wanted is what a line of a file in testdata says of itself, in a comment at its end.
var wanted = regexp.MustCompile(`(?:#|//|--) want((?: MC\d{3})+)\s*$`)

// TestCorpus compares the findings in testdata with what its files want, line by line. A file
// named decoy… wants nothing.
func TestCorpus(t *testing.T) {
	for _, lang := range lexical.All() {
		t.Run(lang.String(), func(t *testing.T) {
			files, err := filepath.Glob("testdata/" + lang.String() + "/*")
			require.NoError(t, err)
			var right, missed, wrong int
			for _, file := range files {
				src, err := os.ReadFile(file)
				require.NoError(t, err)
				r, m, w := compare(t, file, src)
				right, missed, wrong = right+r, missed+m, wrong+w
			}
			t.Logf("%s: %d right, %d missed, %d wrong: recall %.3f, precision %.3f", lang, right, missed, wrong,
				share(right, missed), share(right, wrong))
			assert.GreaterOrEqual(t, right, 12)
		})
	}
}

// compare compares the findings in a file with what its lines want.
func compare(t *testing.T, file string, src []byte) (right, missed, wrong int) {
	t.Helper()
	got := byLine(lexical.Scan(proxycompat.Codis32(), file, src))
	for i, line := range strings.Split(string(src), "\n") {
		var want []string
		if m := wanted.FindStringSubmatch(line); m != nil {
			want = strings.Fields(m[1])
		}
		if strings.HasPrefix(filepath.Base(file), "decoy") {
			assert.Empty(t, want, "%s: a decoy wants nothing", file)
		}
		for _, rule := range want {
			if slices.ContainsFunc(got[i+1], func(f finding.Finding) bool { return f.Rule == rule }) {
				right++
			} else {
				missed++
				t.Errorf("%s:%d: missed %s: %s", file, i+1, rule, strings.TrimSpace(line))
			}
		}
		for _, f := range got[i+1] {
			if !slices.Contains(want, f.Rule) {
				wrong++
				t.Errorf("%s:%d: not wanted: %s: %s", file, i+1, f.Message, strings.TrimSpace(line))
			}
		}
	}
	return right, missed, wrong
}

// TestLessons has a file for each way in which code gets a client, with a near miss.
func TestLessons(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/lessons.txtar")
	require.NoError(t, err)
	for _, file := range archive.Files {
		t.Run(file.Name, func(t *testing.T) { compare(t, file.Name, file.Data) })
	}
}

func share(right, other int) float64 {
	if right+other == 0 {
		return 1
	}
	return float64(right) / float64(right+other)
}

func byLine(all []finding.Finding) map[int][]finding.Finding {
	lines := map[int][]finding.Finding{}
	for _, f := range all {
		lines[f.Line] = append(lines[f.Line], f)
	}
	return lines
}
