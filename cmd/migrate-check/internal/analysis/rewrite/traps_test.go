package rewrite_test

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// A shape that is not a known one, and a change that would alter the behaviour or not compile, are refused.
func TestRefused(t *testing.T) {
	analysistest.Run(t, testdata(), probe(""), "refused", "pipelines", "generated", "goredis6only", "traps")
}
