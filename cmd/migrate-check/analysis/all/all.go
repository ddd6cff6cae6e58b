// Package all lists the analyzers.
package all

import (
	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/analyzers"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/profile"
)

// Analyzers returns all that report something, and the one whose flag says which proxy they judge by.
func Analyzers() []*analysis.Analyzer { return append(analyzers.All(), profile.Analyzer) }
