// Package all lists the analyzers of migrate-check, for programs that run analyzers, as
// go vet does. The category of a diagnostic is the id of a rule. A severity stands
// behind a slash if it is not that of the rule: "MC402/error".
package all

import (
	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/analyzers"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/profile"
)

// Analyzers returns all analyzers that report findings, and the one with the flag for the profile.
func Analyzers() []*analysis.Analyzer { return append(analyzers.All(), profile.Analyzer) }
