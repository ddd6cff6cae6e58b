package rules_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/rules"
)

// The guide lists all rules, as their pages have them.
func TestGuideListsRules(t *testing.T) {
	guide, err := os.ReadFile("../../docs/migrate-check.md")
	require.NoError(t, err)
	for _, r := range rules.All() {
		severity := string(r.Severity)
		if r.Off {
			severity += ", off"
		}
		row := fmt.Sprintf("| [%s](../internal/rules/pages/%s.md) | %s | %s |\n", r.ID, r.ID, severity, r.Summary)
		assert.Contains(t, string(guide), row)
	}
}
