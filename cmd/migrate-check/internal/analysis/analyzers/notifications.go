package analyzers

import (
	"go/ast"
	"go/constant"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/symbolic"
)

const notifyRule = "MC203"

// notifications judges a subscription, or a setting of the server.
func (r *reader) notifications(c *rediscalls.Call, found []string) {
	args := c.Args
	if node, ok := c.Node.(*ast.CallExpr); ok && c.How == rediscalls.Builder {
		for _, outer := range r.behind(node) {
			args = append(args[:len(args):len(args)], outer.Args...)
		}
	}
	if len(found) > 1 || found[0] != "CONFIG SET" {
		if channel := beginning(r.eval, args, "__keyspace@", "__keyevent@"); channel != "" {
			c.Report(r.pass, notifyRule, "notifications of "+channel+"; each server has its own, and none pass a proxy: poll, or write to a stream")
		}
		return
	}
	if setting := beginning(r.eval, settings(r.pass, args), "notify-keyspace-events"); setting != "" {
		c.Report(r.pass, notifyRule, setting+" is set; the notifications of a server do not pass a proxy: poll, or write to a stream")
	}
}

// settings returns the names in CONFIG SET, which alternate with values.
func settings(pass *analysis.Pass, args []ast.Expr) (names []ast.Expr) {
	for len(args) > 0 {
		v := pass.TypesInfo.Types[args[0]].Value
		if symbolic.IsText(pass.TypesInfo.TypeOf(args[0])) && (v == nil || !strings.EqualFold(constant.StringVal(v), "SET")) {
			break
		}
		args = args[1:] // a ctx, or the rest of the command
	}
	for i := 0; i < len(args); i += 2 {
		names = append(names, args[i])
	}
	return names
}

// beginning returns the first of some texts that is a prefix of an argument; "" if none is.
func beginning(eval *symbolic.Evaluator, args []ast.Expr, texts ...string) string {
	var all []ast.Expr
	for _, arg := range args {
		if elements, known := eval.List(arg); known {
			all = append(all, elements...)
			continue
		}
		all = append(all, arg)
	}
	for _, arg := range all {
		value := eval.Eval(arg)
		if len(value) == 0 || value[0].Symbol() {
			continue
		}
		for _, text := range texts {
			if strings.HasPrefix(value[0].Text, text) {
				return text
			}
		}
	}
	return ""
}
