package archtest

import "go/ast"

// checkSleep reports time.Sleep in tests, nested modules included: a test that sleeps is slow when it
// passes and flaky when it fails. In a synctest bubble a sleep costs nothing and advances the time, so
// files with bubbles may sleep.
func checkSleep(t *tree) []string {
	var findings []string
	for _, f := range t.files {
		if !f.test || imports(f, "testing/synctest") {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isCallOf(call.Fun, "time", "Sleep") {
				findings = append(findings, t.finding(f, n.Pos(),
					"a test must not sleep: wait for the event, or use testing/synctest"))
			}
			return true
		})
	}
	return findings
}

func imports(f *file, path string) bool {
	for _, spec := range f.syntax.Imports {
		if spec.Path.Value == `"`+path+`"` {
			return true
		}
	}
	return false
}
