package driver_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/driver"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
)

// A panic of an analyzer loses its findings only.
func TestPanic(t *testing.T) {
	inner := &analysis.Analyzer{Name: "inner", Doc: "inner", Run: func(pass *analysis.Pass) (any, error) {
		if pass.Pkg.Path() == "m/own" {
			panic("no idea")
		}
		return nil, nil
	}}
	outer := &analysis.Analyzer{
		Name: "outer", Doc: "outer", Requires: []*analysis.Analyzer{inner},
		Run: func(*analysis.Pass) (any, error) { return nil, nil },
	}
	r := look(t, in(t, labelled), func(c *driver.Config) { c.Analyzers = append(c.Analyzers, outer) })
	assert.Equal(t, []finding.Unseen{{Path: "m/own", Reason: "inner: a bug of this program: no idea"}}, r.Summary.Unseen)
	assert.NotEmpty(t, r.Findings)
}
