package lexical_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/lexical"
	"github.com/unwatch/unwatch/proxycompat"
)

// maxScan bounds the input of FuzzScan: a scan takes some milliseconds for each KB.
const maxScan = 512

// FuzzScan: whatever a file is, it is scanned to its end, and what is found lies in it.
func FuzzScan(f *testing.F) {
	for i, lang := range lexical.All() {
		files, err := filepath.Glob("testdata/" + lang.String() + "/*")
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(i), excerpt(string(src)))
		}
	}
	profile := proxycompat.Codis32()
	endings := []string{"go", "java", "kt", "py", "ts", "cs", "php", "rb", "lua"}
	f.Fuzz(func(t *testing.T, lang uint8, src string) {
		src = src[:min(len(src), maxScan)]
		ending := endings[int(lang)%len(endings)]
		lines := strings.Split(src, "\n")
		for _, found := range lexical.Scan(profile, "x."+ending, []byte(src)) {
			inside(t, lines, found.Line, found.Column)
		}
	})
}

// excerpt returns some lines in the middle of a file.
func excerpt(src string) string {
	lines := strings.SplitAfter(src, "\n")
	lines = lines[len(lines)/2:]
	return strings.Join(lines[:min(len(lines), 5)], "")
}

func inside(t *testing.T, lines []string, line, column int) {
	t.Helper()
	if line < 1 || line > len(lines) || column < 1 || column > len(lines[line-1])+1 {
		t.Errorf("%d:%d is not in the file", line, column)
	}
}
