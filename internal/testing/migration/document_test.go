package migration

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// section is the document's section on a step.
type section struct {
	number int
	title  string
	blocks []block
}

// block is a block of code in the document.
type block struct {
	line       int // of its fence
	lang, text string
}

// commands returns the lines of the shell blocks.
func (s section) commands() []string {
	var commands []string
	for _, b := range s.blocks {
		if b.lang == "sh" {
			commands = append(commands, strings.Split(strings.TrimSpace(b.text), "\n")...)
		}
	}
	return commands
}

var stepTitle = regexp.MustCompile(`^## Step (\d+): (.*)$`)

// parse returns the sections of the steps, and the blocks outside of them.
func parse(text string) (steps []section, rest []block) {
	var open *block
	in := func() *[]block {
		if len(steps) == 0 {
			return &rest
		}
		return &steps[len(steps)-1].blocks
	}
	for i, line := range strings.Split(text, "\n") {
		lang, isFence := strings.CutPrefix(line, "```")
		switch title := stepTitle.FindStringSubmatch(line); {
		case open != nil && isFence:
			*in() = append(*in(), *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		case isFence:
			open = &block{line: i + 1, lang: lang}
		case title != nil:
			steps = append(steps, section{number: len(steps) + 1, title: title[2]})
		}
	}
	return steps, rest
}

func readDocument(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "docs/migration.md"))
	require.NoError(t, err)
	return string(text)
}

// misquoted returns the blocks of a language that are not part of their source.
func (s section) misquoted(lang, source string) (wrong []string) {
	for _, b := range s.blocks {
		if b.lang == lang && !strings.Contains("\n"+source, "\n"+b.text) {
			wrong = append(wrong, fmt.Sprintf("line %d: this is not of step %d:\n%s", b.line, s.number, b.text))
		}
	}
	return wrong
}

// Negative control: the smallest difference is detected.
func TestMisquoted(t *testing.T) {
	const patch = "@@ -1 +1 @@\n-a\n+b\n"
	for text, want := range map[string]int{"-a\n+b\n": 0, "+b\n": 0, "-a\n+c\n": 1, "b\n": 1, "-a\n+b": 0, "-a\n\n+b\n": 1} {
		s := section{blocks: []block{{lang: "diff", text: text}, {lang: "text", text: "x"}}}
		require.Len(t, s.misquoted("diff", patch), want, "%q", text)
	}
}

// unindented returns the output of go test, followed by the same without the indentation of test logs.
func unindented(printed string) string {
	var b strings.Builder
	for line := range strings.Lines(printed) {
		b.WriteString(strings.TrimPrefix(line, "    "))
	}
	return printed + "\n" + b.String()
}

// stat counts the lines of a patch, in the service and in its tests.
type stat struct{ code, codeGone, tests, testsGone int }

func (s stat) String() string {
	return fmt.Sprintf("| +%d −%d | +%d −%d |", s.code, s.codeGone, s.tests, s.testsGone)
}

// read returns the counts of added and removed lines of a patch, and the changed files.
func read(patch string) (s stat, changed []string) {
	var test bool
	for line := range strings.Lines(patch) {
		if name, ok := strings.CutPrefix(line, "diff --git a/"); ok {
			name, _, _ = strings.Cut(name, " ")
			changed = append(changed, name)
			test = strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "testdata/")
		}
		switch added, gone := strings.HasPrefix(line, "+"), strings.HasPrefix(line, "-"); {
		case len(changed) == 0, strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		case added && test:
			s.tests++
		case added:
			s.code++
		case gone && test:
			s.testsGone++
		case gone:
			s.codeGone++
		}
	}
	return s, changed
}

// The document has a section for each patch, a row in its table with the patch's size, and the commands of
// play.sh. No patch changes the tests of the service's HTTP API.
func TestDocument(t *testing.T) {
	text := readDocument(t)
	steps, rest := parse(text)
	require.Empty(t, rest, "a block outside of the steps is nobody's")
	patches, err := filepath.Glob(filepath.Join(root(t), patchDir, "[0-9]*.patch"))
	require.NoError(t, err)
	require.Len(t, patches, len(steps))

	var commands []string
	for i, step := range steps {
		name := filepath.Base(patches[i])
		require.True(t, strings.HasPrefix(name, fmt.Sprintf("%02d-", step.number)))
		require.Contains(t, text, "(migration/"+name+")")
		require.Contains(t, step.commands(), "git apply --directory="+serviceDir+" "+patchDir+"/"+name)
		commands = append(commands, step.commands()...)

		patch, err := os.ReadFile(patches[i])
		require.NoError(t, err)
		require.Empty(t, step.misquoted("diff", string(patch)))
		for _, b := range step.blocks {
			require.Contains(t, []string{"diff", "text", "sh"}, b.lang, "line %d: nobody checks this", b.line)
		}
		s, changed := read(string(patch))
		require.Contains(t, text, s.String(), "the size of step %d", step.number)
		for _, same := range []string{"service_test.go", "sessions_test.go", "concurrency_test.go", "events_test.go"} {
			require.NotContains(t, changed, same)
		}
	}
	script, err := os.ReadFile(filepath.Join(root(t), patchDir, "play.sh"))
	require.NoError(t, err)
	played := strings.Split(strings.TrimSpace(string(script)), "\n")
	played = slices.DeleteFunc(played, func(line string) bool { return line == "" || !strings.HasPrefix(line, "g") })
	require.Equal(t, slices.DeleteFunc(commands, isProbe), played)
}

// isProbe reports whether a command has a placeholder for the address of a proxy.
func isProbe(command string) bool { return strings.Contains(command, "HOST:PORT") }
