package rewrite_test

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rewrite"
)

// Code that a change would make do something else, or not compile at all, stays as it is.
func TestATrapIsSeen(t *testing.T) {
	analysistest.Run(t, testdata(), probe(rewrite.Options{}), "traps")
}
