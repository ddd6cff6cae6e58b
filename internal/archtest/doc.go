// Package archtest holds the rules of the house that no compiler checks, and
// the test that enforces them: who may import whom, nothing global, no
// sleeping tests, every package documented, files that can be read in one
// sitting, and a golden list of the modules we depend on.
//
// It reads the source with go/parser only, so it sees every file whatever its
// build constraints, and needs nothing but the standard library.
package archtest
