package wrap_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/internal/wrap"
)

func TestCounted(t *testing.T) {
	assert.Equal(t, "0 files", wrap.Counted(0, "file"))
	assert.Equal(t, "1 file", wrap.Counted(1, "file"))
	assert.Equal(t, "1,200 files", wrap.Counted(1200, "file"))
	assert.Equal(t, "1,204,511 calls", wrap.Counted(int64(1_204_511), "call"))
	assert.Equal(t, "0 processes", wrap.Counted(0, "process"))
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		assert.Equal(t, want, wrap.Grouped(n))
	}
}

func TestTable(t *testing.T) {
	table := wrap.NewTable("key", "#calls", "")
	assert.True(t, table.Empty())
	table.Row("a\x1b", []int64{1200}, "")
	table.Row(strings.Repeat("long", 30), int64(7), "end")
	assert.False(t, table.Empty())
	want := "  key" + strings.Repeat(" ", 63) + "  calls\n" +
		"  a?" + strings.Repeat(" ", 64) + "  1,200\n" +
		"  " + strings.Repeat("long", 8) + ".." + strings.Repeat("long", 8) + "      7  end\n"
	assert.Equal(t, want, table.String())
	assert.Equal(t, want, table.String(), "writing changes nothing")
	assert.Equal(t, []string{"", "ab", "a..z", "äöü"},
		[]string{wrap.Shorten("abc", 0), wrap.Shorten("abcd", 2), wrap.Shorten("a to z", 4), wrap.Shorten("äöü", 3)})
}

func TestParagraph(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "- \n",
		"one":                     "- one\n",
		"one two  three\nfour":    "- one two\n  three\n  four\n",
		"eleven-long a":           "- eleven-long\n  a\n", // no word is broken
		"äöü äöü a":               "- äöü äöü\n  a\n",     // characters, not bytes
		"a-word-that-is-too-long": "- a-word-that-is-too-long\n",
	} {
		assert.Equal(t, want, wrap.Paragraph(10, "- ", "  ", text))
	}
}

// No line has an effect on a terminal or a CI runner, even if it contains a hostile name.
func TestParagraphOfHostileText(t *testing.T) {
	assert.Equal(t, "nl?::error::x: a\n  ?:error::y\n", wrap.Paragraph(17, "nl\n::error::x: ", "  ", "a\n::error::y"))
}

// A word of any length is short in a paragraph. What stands beside it stays.
func TestParagraphOfLongWord(t *testing.T) {
	text := wrap.Paragraph(80, "key: ", "  ", "front"+strings.Repeat("k", 5<<10)+"back is in transit")
	assert.Less(t, len(text), 260)
	assert.Regexp(t, `^key: front`, text)
	assert.Contains(t, text, "kback\n  is in transit\n")
}
