// Package long marks the tests that only make test-all runs: those of more than five
// seconds, and those in a browser. It is not -short, which would also have rapid draw a
// fifth of its cases.
package long

import (
	"os"
	"testing"
)

// Only skips a test unless UNWATCH_ALL_TESTS is set, as make test-all does.
func Only(t testing.TB) {
	t.Helper()
	if os.Getenv("UNWATCH_ALL_TESTS") == "" {
		t.Skip("make test-all runs it")
	}
}
