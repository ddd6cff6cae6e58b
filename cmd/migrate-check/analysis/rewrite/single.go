package rewrite

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/rediscalls"
)

// single rewrites a transaction of one command to the command: it is atomic by itself.
func single(s *source, call *rediscalls.Call) (*analysis.SuggestedFix, error) {
	if call.Func.Name() == "TxPipeline" {
		return nil, errors.New("what is sent through the pipeline is not written in one place")
	}
	if call.Library.Name != rediscalls.GoRedis || call.Library.Major < 8 || len(s.call.Args) != 2 {
		return nil, fmt.Errorf("it is of go-redis v%d; version 8 or later is rewritten", call.Library.Major)
	}
	sel, ok := ast.Unparen(s.call.Fun).(*ast.SelectorExpr)
	if !ok || !s.plain(sel.X) {
		return nil, errors.New("the client is not a plain expression")
	}
	if s.isTx(sel.X) {
		return nil, errors.New("it belongs to a Watch: see there")
	}
	one, err := s.oneCommand(s.call.Args[1])
	if err != nil {
		return nil, err
	}
	name := ast.Unparen(one.Fun).(*ast.SelectorExpr).Sel.Name
	if waits(name) {
		return nil, fmt.Errorf("%s does not wait in a transaction, and does outside", name)
	}
	obj, _, _ := types.LookupFieldOrMethod(s.info.TypeOf(sel.X), true, s.pass.Pkg, name)
	if fn, ok := obj.(*types.Func); !ok || fn.Pkg() != call.Func.Pkg() {
		return nil, fmt.Errorf("%s has no %s of the library", s.of(sel.X), name)
	}
	if len(one.Args) == 0 || !s.same(s.call.Args[0], one.Args[0]) {
		return nil, errors.New("the command has another context than the transaction")
	}
	if err := s.dropCmders(); err != nil {
		return nil, err
	}
	s.replace(s.call.Pos(), one.Args[0].Pos(), s.of(sel.X)+"."+name+"(")
	s.replace(one.End(), s.call.End(), ".Err()")
	return s.fix("Send the one command without MULTI and EXEC"), nil
}

// waits reports whether a command blocks, or is sent in parts.
func waits(name string) bool {
	for prefix := range strings.FieldsSeq("BL BR BZ XRead Wait Do Process Pipeline Tx Exec Discard Len Script Eval FCall") {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// dropCmders leaves out the first of the two results, if nobody uses it.
func (s *source) dropCmders() error {
	n, ok := s.parent().(*ast.AssignStmt)
	if !ok {
		if _, ok := s.parent().(*ast.ExprStmt); ok {
			return nil
		}
		return errors.New("the answers of the commands are used, or returned")
	}
	if len(n.Lhs) != 2 || n.Tok != token.DEFINE && n.Tok != token.ASSIGN {
		return errors.New("its results are assigned in an unusual way")
	}
	if id, ok := n.Lhs[0].(*ast.Ident); !ok || id.Name != "_" {
		return errors.New("the answers of the commands are used")
	}
	s.replace(n.Lhs[0].Pos(), n.Lhs[1].Pos(), "")
	return nil
}
