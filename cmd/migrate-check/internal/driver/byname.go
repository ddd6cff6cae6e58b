package driver

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/internal/rules"
	"github.com/unwatch/unwatch/proxycompat"
)

// transactionRule is the rule of a transaction by its name.
const transactionRule = "MC103"

// byName finds transactions by the text of their commands, as in c.Send("MULTI"), on any receiver: without types, the
// receiver may be the result of a helper. A WATCH counts only beside one of the others, because etcd and Kubernetes
// have it, too.
func byName(p *proxycompat.Profile, path string, src []byte) (all []finding.Finding) {
	fset := token.NewFileSet()
	file, _ := parser.ParseFile(fset, path, src, parser.SkipObjectResolution) // a file with errors has the rest
	if file == nil {
		return nil
	}
	sure := false
	for call := range rediscalls.Each[*ast.CallExpr](file) {
		sel, command := named(call)
		what, refused := rules.Refusal(p, command)
		if sel == nil || !refused {
			continue
		}
		sure = sure || command != "WATCH"
		at := fset.Position(sel.Sel.Pos())
		f := finding.Finding{
			Rule: transactionRule, Severity: rules.SeverityOf(transactionRule), Confidence: finding.Low,
			Place: finding.Place{Path: path, Line: at.Line, Column: at.Column},
		}
		f.Message = command + " through " + sel.Sel.Name + "; " + what + " (" + transactionRule + ")"
		if r, ok := rules.Of(transactionRule); ok {
			f.Advice = r.Advice()
		}
		all = append(all, f)
	}
	if !sure {
		return nil
	}
	return all
}

// named returns the method and the command of a call that names a command of a transaction; nil for any other call.
func named(call *ast.CallExpr) (sel *ast.SelectorExpr, command string) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Do", "Send", "DoContext", "SendContext", "DoWithTimeout"}, sel.Sel.Name) {
		return nil, ""
	}
	for _, arg := range call.Args[:min(2, len(call.Args))] { // the first may be a ctx
		lit, ok := arg.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			continue
		}
		text, err := strconv.Unquote(lit.Value)
		command := strings.ToUpper(text)
		if err == nil && slices.Contains([]string{"WATCH", "MULTI", "EXEC", "DISCARD", "UNWATCH"}, command) {
			return sel, command
		}
		break
	}
	return nil, ""
}
