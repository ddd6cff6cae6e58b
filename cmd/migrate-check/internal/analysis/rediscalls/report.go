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

// Name is the called function, as in code: "(*redis.Client).Watch".
func (c *Call) Name() string {
	recv := c.Func.Signature().Recv()
	if recv == nil {
		return c.Func.Pkg().Name() + "." + c.Func.Name()
	}
	return "(" + types.TypeString(recv.Type(), (*types.Package).Name) + ")." + c.Func.Name()
}

// Report reports a call. The rule is the diagnostic's category, and the end of its text. Behind
// a slash, it may have a severity other than that of the rule. more may add to the diagnostic.
func (c *Call) Report(pass *analysis.Pass, rule, text string, more ...func(*analysis.Diagnostic)) {
	if _, called := c.Node.(*ast.CallExpr); !called {
		text += "; it is taken as a value here, and called elsewhere"
	}
	id, _, _ := strings.Cut(rule, "/")
	d := analysis.Diagnostic{
		Pos: c.Node.Pos(), End: c.Node.End(), Category: rule, Message: text + " (" + id + ")",
	}
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
