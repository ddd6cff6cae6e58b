package diff_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/diff"
)

func TestCompileRefuses(t *testing.T) {
	for template, why := range map[string]string{
		"":                             "it is empty",
		"a..b":                         "a name is missing",
		"a.":                           "a name is missing",
		".a":                           "a name is missing",
		"a[0].b":                       "without an index",
		"a[":                           "without an index",
		"a[]b":                         "a dot is missing",
		"a b":                          "must be quoted",
		"a*":                           "must be quoted",
		"a]":                           "must be quoted",
		"a.**":                         `there is no "**"`,
		`a."b`:                         "has no end",
		`a."b"c`:                       "a dot is missing",
		"\xff":                         "not UTF-8",
		strings.Repeat("[]", 33):       "more than 32 steps",
		strings.Repeat("a.", 32) + "a": "more than 32 steps",
	} {
		_, err := diff.Compile(diff.Rules{Sets: []string{"fine", template}})
		require.ErrorIs(t, err, rmw.ErrInvalid, template)
		assert.ErrorContains(t, err, "Rules.Sets[1] is ")
		assert.ErrorContains(t, err, why)
	}
	for _, r := range []diff.Rules{{Ignore: []string{"."}}, {Keys: []string{"."}}, {Keys: []string{"a[]"}}} {
		_, err := diff.Compile(r)
		assert.ErrorIs(t, err, rmw.ErrInvalid)
	}
}

// Compile refuses wildcards that multiply beyond a limit.
func TestCompileIsBounded(t *testing.T) {
	var templates []string
	for i := range 20 {
		templates = append(templates, strings.Repeat("*.", i)+"x"+strings.Repeat(".*", 20-i))
	}
	_, err := diff.Compile(diff.Rules{Ignore: templates})
	require.ErrorIs(t, err, rmw.ErrInvalid)
	assert.ErrorContains(t, err, "use fewer")
}

func TestRulesOverlap(t *testing.T) {
	c := compile(t, diff.Rules{
		Ignore: []string{"*.x", "a.y", `"odd name"."*"`, "[].b"},
		Show:   []string{"a.*", "*.z"},
	})
	for _, tt := range []struct {
		a, b    string
		ignored bool
	}{
		{`{"a":{"x":1,"y":1}}`, `{"a":{}}`, true},
		{`{"b":{"x":1}}`, `{"b":{}}`, true},
		{`{"b":{"y":1}}`, `{"b":{}}`, false},
		{`{"x":1}`, `{}`, false},                 // "*.x" is below a field
		{`{"a":[{"x":1}]}`, `{"a":[{}]}`, false}, // "*" is a name, not an element
		{`{"odd name":{"*":1}}`, `{"odd name":{}}`, true},
		{`{"odd name":{"a":1}}`, `{"odd name":{}}`, false}, // a quoted asterisk is a name
		{`[{"b":1}]`, `[{}]`, true},
		{`{"b":1}`, `{}`, false},
	} {
		assert.Equal(t, tt.ignored, agree(t, c, rmw.String(tt.a), rmw.String(tt.b)).Same, tt.a)
	}
	r := c.Compare(rmw.String(`{"a":{"z":"one"},"b":{"z":"two"},"c":{"y":"three"}}`), rmw.String(`{"a":{},"b":{},"c":{}}`))
	assert.Equal(t, `a.z: "one", absent; b.z: "two", absent; c.y: string(5), absent`, found(r))
}
