package redisnotify

import (
	_ "embed"
	"go/ast"
	"go/constant"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/profile"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/symbolic"
)

//go:embed doc.go
var doc string

// Analyzer finds keyspace notifications.
var Analyzer = &analysis.Analyzer{
	Name:     "redisnotify",
	Doc:      rediscalls.About(doc, "redisnotify"),
	URL:      "https://pkg.go.dev/github.com/unwatch/unwatch/cmd/migrate-check/analysis/redisnotify",
	Requires: []*analysis.Analyzer{rediscalls.Analyzer, symbolic.Analyzer, profile.Analyzer},
	Run:      run,
}

const rule = "MC203"

func run(pass *analysis.Pass) (any, error) {
	if profile.Of(pass).Server() {
		return nil, nil
	}
	eval := symbolic.Of(pass)
	chains := rediscalls.ChainsOf(pass)
	for _, call := range pass.ResultOf[rediscalls.Analyzer].([]*rediscalls.Call) {
		args := call.Args
		if node, ok := call.Node.(*ast.CallExpr); ok && call.How == rediscalls.Builder {
			for _, outer := range chains.Behind(node) {
				args = append(args[:len(args):len(args)], outer.Args...)
			}
		}
		switch {
		case len(call.Of([]string{"SUBSCRIBE", "PSUBSCRIBE"})) > 0:
			if channel := beginning(eval, args, "__keyspace@", "__keyevent@"); channel != "" {
				call.Report(pass, rule, "notifications of "+channel+"; each server has its own, and none pass a proxy: poll, or write to a stream")
			}
		case len(call.Of([]string{"CONFIG SET"})) > 0:
			if setting := beginning(eval, settings(pass, args), "notify-keyspace-events"); setting != "" {
				call.Report(pass, rule, setting+" is set; the notifications of a server do not pass a proxy: poll, or write to a stream")
			}
		}
	}
	return nil, nil
}

// settings are the names of what CONFIG SET sets, with values in between.
func settings(pass *analysis.Pass, args []ast.Expr) (names []ast.Expr) {
	for len(args) > 0 {
		v := pass.TypesInfo.Types[args[0]].Value
		t, ok := pass.TypesInfo.TypeOf(args[0]).Underlying().(*types.Basic)
		if text := ok && t.Info()&types.IsString != 0; text && (v == nil || !strings.EqualFold(constant.StringVal(v), "SET")) {
			break
		}
		args = args[1:] // a ctx, or the rest of the command
	}
	for i := 0; i < len(args); i += 2 {
		names = append(names, args[i])
	}
	return names
}

// beginning returns which of some texts an argument begins with; "" if none.
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
