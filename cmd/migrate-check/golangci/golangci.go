// Package golangci makes a plugin of the analyzers for golangci-lint's module plugin system.
// In .custom-gcl.yml:
//
//	version: v2.1.0
//	plugins:
//	  - module: github.com/unwatch/unwatch
//	    import: github.com/unwatch/unwatch/cmd/migrate-check/golangci
//	    version: latest
//
// and in .golangci.yml:
//
//	linters:
//	  enable: [migratecheck]
//	  settings:
//	    custom:
//	      migratecheck:
//	        type: module
//	        settings:
//	          rules: default       # as -rules
//	          profile: codis@3.2   # as -profile
//	issues:
//	  max-same-issues: 0         # its default of 3 hides the fourth WATCH
//	  max-issues-per-linter: 0
//	  uniq-by-line: false
//
// golangci-lint looks at one package after the other: there are no ways from a main, and
// nothing is said of files that are not built. Its own //nolint:migratecheck is what ignores
// a finding.
package golangci

import (
	"fmt"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/all"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/guard"
	"github.com/unwatch/unwatch/internal/rules"
)

//nolint:gochecknoinits // an import is all that golangci-lint does to a plugin
func init() { register.Plugin("migratecheck", newPlugin) }

// settings are those of .golangci.yml.
type settings struct {
	Rules   string `json:"rules"`   // as -rules: "default", "MC1,-MC102"
	Profile string `json:"profile"` // as -profile: "codis@3.2", or the path of a file
}

type plugin struct{ only func(id string) bool }

func newPlugin(conf any) (register.LinterPlugin, error) {
	given, err := register.DecodeSettings[settings](conf)
	if err != nil {
		return nil, fmt.Errorf("migratecheck: %w", err)
	}
	if given.Rules == "" {
		given.Rules = "default"
	}
	only, err := rules.Parse(given.Rules)
	if err != nil {
		return nil, fmt.Errorf("migratecheck: rules: %w", err)
	}
	own := all.Settings{Profile: given.Profile, Split: only("MC403")}
	if err := own.Apply(); err != nil {
		return nil, fmt.Errorf("migratecheck: %w", err)
	}
	return plugin{only}, nil
}

// BuildAnalyzers returns the analyzers.
func (p plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	var made []*analysis.Analyzer
	for _, a := range guard.All(all.Analyzers()) {
		made = append(made, only(a, p.only))
	}
	return made, nil
}

// only is an analyzer that reports some of its rules: those that were asked for.
func only(a *analysis.Analyzer, wanted func(id string) bool) *analysis.Analyzer {
	filtered := *a
	filtered.Run = func(pass *analysis.Pass) (any, error) {
		own := *pass
		own.Report = func(d analysis.Diagnostic) {
			if wanted(rules.ID(d.Category)) {
				pass.Report(d)
			}
		}
		return a.Run(&own)
	}
	return &filtered
}

// GetLoadMode says that types are needed.
func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
