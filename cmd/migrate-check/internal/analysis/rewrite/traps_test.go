package rewrite_test

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rewrite"
)

// A change that would alter the behaviour, or not compile, is refused.
func TestTraps(t *testing.T) {
	analysistest.Run(t, testdata(), probe(rewrite.Options{}), "traps")
}
