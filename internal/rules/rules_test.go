package rules_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/rules"
)

// Every page has the same sections in the same order.
func TestPages(t *testing.T) {
	require.NotEmpty(t, rules.All())
	names := map[string]string{}
	for _, r := range rules.All() {
		t.Run(r.ID, func(t *testing.T) {
			assert.Regexp(t, `^MC\d{3}$`, r.ID)
			assert.Regexp(t, `^[a-z0-9-]+$`, r.Name)
			assert.Empty(t, names[r.Name], "another rule has this name")
			names[r.Name] = r.ID
			assert.Less(t, len(r.Summary), 80)
			assert.False(t, strings.HasSuffix(r.Summary, "."))
			var heads []string
			for line := range strings.Lines(r.Page) {
				if strings.HasPrefix(line, "## ") {
					heads = append(heads, strings.TrimSpace(line[3:]))
				}
				assert.LessOrEqual(t, len([]rune(line)), 125, line)
			}
			assert.Equal(t, []string{"Why", "Example", "What to do"}, heads)
			assert.NotEmpty(t, r.Advice())
			assert.Less(t, len(r.Advice()), 200, r.Advice())
			again, ok := rules.Of(strings.ToLower(r.ID))
			assert.True(t, ok)
			assert.Equal(t, r, again)
		})
	}
	_, ok := rules.Of("MC000")
	assert.False(t, ok)
}

func TestParseTxPreset(t *testing.T) {
	only, err := rules.Parse("tx")
	require.NoError(t, err)
	for _, r := range rules.All() {
		assert.Equal(t, strings.HasPrefix(r.ID, "MC1"), only(r.ID), r.ID)
	}
	without, err := rules.Parse("-tx")
	require.NoError(t, err)
	assert.False(t, without("MC101"))
	assert.True(t, without("MC202"))
}
