// Package trial runs analyzers on their shared fixtures.
package trial

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/unwatch/unwatch/cmd/migrate-check/rules"
)

// Run runs an analyzer on fixtures with their expectations, and counts the diagnostics of each
// category. A category is a rule with a page, and a severity if
// it is not that of the page.
func Run(t *testing.T, a *analysis.Analyzer, fixtures ...string) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, result := range analysistest.Run(t, filepath.Join(analysistest.TestData(), "../../testdata"), a, fixtures...) {
		for _, d := range result.Diagnostics {
			found[d.Category]++
			if why := Wrong(d); why != "" {
				t.Errorf("%s: %s: %s", d.Category, why, d.Message)
			}
		}
	}
	return found
}

// Wrong returns the mistake in the category of a diagnostic; "" if there is none.
func Wrong(d analysis.Diagnostic) string {
	id, severity, special := strings.Cut(d.Category, "/")
	rule, known := rules.Of(id)
	switch {
	case !known:
		return "no such rule has a page"
	case special && !slices.Contains(rules.Severities(), rules.Severity(severity)):
		return "no such severity"
	case special && rules.Severity(severity) == rule.Severity:
		return "that is the severity of the rule"
	case !strings.HasSuffix(d.Message, " ("+id+")"):
		return "the message does not end with the rule"
	case strings.Contains(d.Message, "\n"):
		return "the message has several lines"
	}
	return ""
}
