package guard_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/guard"
)

// go vet and golangci-lint print messages as they are.
func TestMessagesArePrintable(t *testing.T) {
	evil := &analysis.Analyzer{Name: "evil", Run: func(pass *analysis.Pass) (any, error) {
		pass.Report(analysis.Diagnostic{Message: "::error::\x1b[31m\nEVIL"})
		return nil, nil
	}}
	var got string
	_, err := guard.All([]*analysis.Analyzer{evil})[0].Run(&analysis.Pass{Report: func(d analysis.Diagnostic) { got = d.Message }})
	require.NoError(t, err)
	assert.Equal(t, "?:error::?[31m?EVIL", got)
}
