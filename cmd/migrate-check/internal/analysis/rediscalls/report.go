package rediscalls

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Of returns the given commands that the call may send.
func (c *Call) Of(commands []string) (found []string) {
	for _, name := range c.Commands {
		if slices.Contains(commands, name) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// Through formats the call for a message: "WATCH through (*redis.Client).Watch".
func (c *Call) Through(commands []string) string {
	return fmt.Sprintf("%s through %s", strings.Join(commands, " or "), c.Name())
}

// Name is the name of the called function: see [NameOf].
func (c *Call) Name() string { return NameOf(c.Func) }

// NameOf formats a function for a message: "(*redis.Client).Watch".
func NameOf(fn *types.Func) string {
	recv := fn.Signature().Recv()
	if recv == nil {
		return fn.Pkg().Name() + "." + fn.Name()
	}
	return "(" + types.TypeString(recv.Type(), (*types.Package).Name) + ")." + fn.Name()
}

// Report reports a call: see the function Report.
func (c *Call) Report(pass *analysis.Pass, rule, text string, more ...func(*analysis.Diagnostic)) {
	if _, called := c.Node.(*ast.CallExpr); !called {
		text += "; it is taken as a value here, and called elsewhere"
	}
	Report(pass, c.Node, rule, text, more...)
}

// Report reports a place in the code. The rule is the diagnostic's category, and the end of its text. Behind
// a slash, it may have a severity other than that of the rule. more may add to the diagnostic.
func Report(pass *analysis.Pass, n ast.Node, rule, text string, more ...func(*analysis.Diagnostic)) {
	id, _, _ := strings.Cut(rule, "/")
	d := analysis.Diagnostic{Pos: n.Pos(), End: n.End(), Category: rule, Message: text + " (" + id + ")"}
	for _, add := range more {
		add(&d)
	}
	pass.Report(d)
}

// About returns the part of a doc.go on an analyzer: the text behind "name: ", up to the next analyzer.
func About(doc, name string) string {
	_, doc, _ = strings.Cut(doc, "// "+name+": ")
	doc, _, _ = strings.Cut(doc, "\npackage ")
	doc, _, _ = strings.Cut(doc, "\n//\n// # Analyzer ")
	return strings.ReplaceAll(strings.ReplaceAll(doc, "\n// ", "\n"), "\n//", "\n")
}
