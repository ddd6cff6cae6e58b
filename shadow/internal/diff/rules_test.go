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
	ignored := func(a, b string) bool { return agree(t, c, rmw.String(a), rmw.String(b)).Same }
	assert.True(t, ignored(`{"a":{"x":1,"y":1}}`, `{"a":{}}`))
	assert.True(t, ignored(`{"b":{"x":1}}`, `{"b":{}}`))
	assert.False(t, ignored(`{"b":{"y":1}}`, `{"b":{}}`))
	assert.False(t, ignored(`{"x":1}`, `{}`), `"*.x" is below a field`)
	assert.False(t, ignored(`{"a":[{"x":1}]}`, `{"a":[{}]}`), `"*" is a name, not an element`)
	assert.True(t, ignored(`{"odd name":{"*":1}}`, `{"odd name":{}}`))
	assert.False(t, ignored(`{"odd name":{"a":1}}`, `{"odd name":{}}`), "a quoted asterisk is a name")
	assert.True(t, ignored(`[{"b":1}]`, `[{}]`))
	assert.False(t, ignored(`{"b":1}`, `{}`))

	r := c.Compare(rmw.String(`{"a":{"z":"one"},"b":{"z":"two"},"c":{"y":"three"}}`), rmw.String(`{"a":{},"b":{},"c":{}}`))
	assert.Equal(t, []string{`a.z: "one", absent`, `b.z: "two", absent`, `c.y: string(5), absent`}, found(r))
}
