package domains_test

import (
	"flag"
	"testing"
)

// A failure that rapid finds is in the test's output, seed and all: it leaves no
// file in the tree.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
	m.Run()
}
