package wrap_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/wrap"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                         "plain",
		"bräu → 茶　…":                    "bräu → 茶　…",
		"a\x1b[31mb\nc\rd\te\x7f\u009b": "a?[31mb?c?d?e??",
		"\u202eabc\xff\u2028":           "?abc??",
	} {
		assert.Equal(t, want, wrap.Printable(text))
	}
}

func TestLineIsNoCommandToARunner(t *testing.T) {
	for text, want := range map[string]string{
		"::error::x":       "?:error::x",
		"  ::error::x":     "  ?:error::x",
		"　::error::x":      "　?:error::x",
		"a ##[error]x":     "a ?#[error]x",
		"##vso[task]":      "?#vso[task]",
		"[####]":           "[####]",
		"Redis::Client ::": "Redis::Client ::",
		"\n::x":            "?::x",
	} {
		assert.Equal(t, want, wrap.Line(text))
		assert.Equal(t, want, wrap.Line(want), "twice is once")
	}
}

func TestLinesKeepTheirEndsAndTabs(t *testing.T) {
	const code = "--- a/x\n \tif x {\r\n-\ty\n"
	assert.Equal(t, code, wrap.Lines(code))
	assert.Equal(t, " \t?:error::x\na?b\nend?", wrap.Lines(" \t::error::x\na\x1bb\nend\r"))
}

func TestJSONKeepsTheValues(t *testing.T) {
	const evil = "a\x1b\u009b2J\u202e\U000e0001 ##[error] \\##[x] \"茶\"\x7f"
	text, err := json.Marshal(evil)
	require.NoError(t, err)
	safe := wrap.JSON(string(text))
	assert.Equal(t, safe, wrap.Line(safe))
	var back string
	require.NoError(t, json.Unmarshal([]byte(safe), &back))
	assert.Equal(t, evil, back)
}

func TestTextKeepsLineEndsAndTabs(t *testing.T) {
	assert.Equal(t, "a\n\tb?[31m?c?", wrap.Text("a\n\tb\x1b[31m\u202ec\xff"))
}
