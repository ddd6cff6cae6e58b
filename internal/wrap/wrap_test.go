package wrap_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/internal/wrap"
)

func TestCounted(t *testing.T) {
	assert.Equal(t, "0 files", wrap.Counted(0, "file"))
	assert.Equal(t, "1 file", wrap.Counted(1, "file"))
	assert.Equal(t, "1200 files", wrap.Counted(1200, "file"))
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
