package analyzers_test

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/unwatch/unwatch/internal/rules"
)

// trial runs each analyzer on its own fixtures, which have their expectations in comments. It loads all fixtures once,
// with what they import. It counts the diagnostics by analyzer and category. A category is a rule with a page, and a
// severity if it is not that of the page.
func trial(t *testing.T, fixtures map[*analysis.Analyzer][]string) map[string]map[string]int {
	t.Helper()
	found, paths := map[string]map[string]int{}, []string(nil)
	all := &analysis.Analyzer{Name: "trial", Doc: "run analyzers on their fixtures"}
	for a, own := range fixtures {
		paths = append(paths, own...)
		all.Requires = append(all.Requires, a.Requires...)
		found[a.Name] = map[string]int{}
	}
	var mu sync.Mutex // packages are analysed at the same time
	all.Run = func(pass *analysis.Pass) (any, error) {
		for a, own := range fixtures {
			if !slices.Contains(own, pass.Pkg.Path()) {
				continue
			}
			one := *pass
			one.Analyzer = a
			one.Report = func(d analysis.Diagnostic) {
				mu.Lock()
				defer mu.Unlock()
				if found[a.Name][d.Category]++; wrong(d) != "" {
					t.Errorf("%s: %s: %s", d.Category, wrong(d), d.Message)
				}
				pass.Report(d)
			}
			if _, err := a.Run(&one); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	slices.Sort(paths)
	analysistest.Run(t, filepath.Join(analysistest.TestData(), "../../testdata"), all, slices.Compact(paths)...)
	return found
}

// wrong returns the mistake in the category of a diagnostic; "" if there is none.
func wrong(d analysis.Diagnostic) string {
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
