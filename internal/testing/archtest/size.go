package archtest

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// maxLines is the limit for a file about one subject. Most files stay below 350.
const maxLines = 450

// checkSize reports files, tests included, that are longer than limit. Generated files are exempt.
func checkSize(t *tree, limit int) []string {
	var findings []string
	for _, f := range t.files {
		if f.lines > limit && !ast.IsGenerated(f.syntax) {
			findings = append(findings, fmt.Sprintf(
				"%s: %d lines, at most %d: find the second noun and give it a file", f.path, f.lines, limit))
		}
	}
	return findings
}

// maxLockupdate is the limit for lockupdate and its inner packages. Native drivers, Linger,
// SoleWriter, LockDelay, NotifyRedisson, tokens and events are features that a service can choose. The bulkhead, which
// keeps a part of the store that hangs from delaying the rest, has 900 of the lines.
const maxLockupdate = 7750

// checkCore reports a package that has, with its inner packages, more than limit lines. Tests and the
// packages of except do not count.
func checkCore(t *tree, core string, limit int, except ...string) []string {
	lines := 0
	for _, f := range t.files {
		if !f.test && strings.HasPrefix(f.dir()+"/", core+"/") && !slices.Contains(except, f.dir()) {
			lines += f.lines
		}
	}
	if lines <= limit {
		return nil
	}
	return []string{fmt.Sprintf("%s: %d lines with its inner packages, at most %d: delete code that no longer serves", core, lines, limit)}
}

// checkDocs reports packages without a package comment.
func checkDocs(t *tree) []string {
	var findings []string
	packages := t.packages()
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		files := packages[pkg]
		want := "Package " + files[0].syntax.Name.Name + " "
		if files[0].syntax.Name.Name == "main" {
			want = "" // a program's comment begins with its own name
		}
		if !documented(files, want) {
			findings = append(findings, fmt.Sprintf("%s: no package comment that starts with %q", pkg, want))
		}
	}
	return findings
}

func documented(files []*file, want string) bool {
	for _, f := range files {
		if doc := f.syntax.Doc.Text(); doc != "" && strings.HasPrefix(doc, want) {
			return true
		}
	}
	return false
}
