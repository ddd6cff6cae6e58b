// Package archtest tests the rules of this repository that no compiler checks: permitted imports, no global
// state, no sleeping tests, documented packages, a limit on file size, and a golden list of required
// modules.
//
// It reads the source with go/parser only, so it sees every file whatever its build constraints, and needs
// nothing but the standard library.
package archtest
