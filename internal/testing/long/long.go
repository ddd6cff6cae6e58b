// Package long marks the tests that only make test-all runs: those of more than five
// seconds, and those in a browser. Their names begin with TestLong, since make test-all runs
// no others. It also marks the tests that make race leaves out, which has -short.
package long

import (
	"os"
	"strings"
	"testing"
)

// Repeats skips a test with -short, as make race runs it. It is for tests that show no other race than
// their neighbours: they run the same code on other values, or with a planted defect.
func Repeats(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("shows no other race than its neighbours")
	}
}

// Only skips a test unless UNWATCH_ALL_TESTS is set, as make test-all does.
func Only(t testing.TB) {
	t.Helper()
	if !strings.HasPrefix(t.Name(), "TestLong") {
		t.Fatal("rename it to TestLong...: make test-all runs tests of such names only")
	}
	if os.Getenv("UNWATCH_ALL_TESTS") == "" {
		t.Skip("make test-all runs it")
	}
}
