package rewrite

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
)

// single rewrites a transaction of one command to the command: it is atomic by itself.
func single(s *source, call *rediscalls.Call) (*analysis.SuggestedFix, error) {
	if call.Library.Name != rediscalls.GoRedis || call.Library.Major < 8 {
		return nil, fmt.Errorf("it is of go-redis v%d; version 8 or later is rewritten", call.Library.Major)
	}
	sel, ok := ast.Unparen(s.call.Fun).(*ast.SelectorExpr)
	if !ok || !s.plain(sel.X) {
		return nil, errors.New("the client is not a plain expression")
	}
	if s.isTx(sel.X) {
		return nil, errors.New("it belongs to a Watch: see there")
	}
	one, exec, in, stmts, err := (*ast.CallExpr)(nil), s.call, s.parent(), s.statements(), error(nil)
	if call.Func.Name() == "TxPipelined" {
		one, err = s.oneCommand(s.call)
	} else if one, exec, err = s.pipeline(s.call, stmts); err == nil {
		in = simple(stmts[2])
	}
	if err != nil {
		return nil, err
	}
	if err := s.sendsAtOnce(sel, call.Func); err != nil {
		return nil, err
	}
	name := ast.Unparen(one.Fun).(*ast.SelectorExpr).Sel.Name
	if !repeatable[name] && !reads[name] {
		return nil, fmt.Errorf("go-redis sends %s again if its answer is lost, and a transaction only once", name)
	}
	obj, _, _ := types.LookupFieldOrMethod(s.info.TypeOf(sel.X), true, s.pass.Pkg, name)
	if fn, ok := obj.(*types.Func); !ok || fn.Pkg() != call.Func.Pkg() {
		return nil, fmt.Errorf("%s has no %s of the library", s.of(sel.X), name)
	}
	if len(one.Args) < 2 {
		return nil, fmt.Errorf("%s has no key, so it may go to another server than a transaction", name)
	}
	if reads[name] && nameIn(s.info.TypeOf(sel.X), call.Func.Pkg()) != "Client" {
		return nil, fmt.Errorf("%s may read from another server than a transaction", name)
	}
	if !s.plain(one.Args[0]) && !s.background(one.Args[0]) || !s.same(exec.Args[0], one.Args[0]) {
		return nil, errors.New("the command has another context than the transaction")
	}
	if err := s.dropCmders(in); err != nil {
		return nil, err
	}
	command := s.of(sel.X) + "." + name + "("
	if exec == s.call {
		s.replacePart(exec.Pos(), one.Args[0].Pos(), command)
		s.replacePart(one.End(), exec.End(), ".Err()")
	} else {
		s.replacePart(stmts[0].Pos(), stmts[2].Pos(), "")
		s.replacePart(exec.Pos(), exec.End(), command+s.between(one.Args[0].Pos(), one.End())+".Err()")
	}
	return s.fix("Send the one command without MULTI and EXEC")
}

// repeatable are the writes that leave the same, however often they are sent: go-redis sends a
// command again if its answer is lost.
var repeatable = set("Set HSet HMSet Del Unlink HDel SAdd SRem ZAdd ZRem Expire PExpire ExpireAt PExpireAt Persist")

// sendsAtOnce refuses what may be a pipeline itself: its commands are not sent at once, and its
// TxPipelined sends them all.
func (s *source) sendsAtOnce(sel *ast.SelectorExpr, method *types.Func) error {
	of := ""
	if recv := method.Signature().Recv(); recv != nil {
		of = nameIn(recv.Type(), method.Pkg())
	}
	if types.IsInterface(s.info.TypeOf(sel.X)) {
		of = nameIn(s.info.TypeOf(sel.X), method.Pkg())
	}
	switch of {
	case "Client", "ClusterClient", "Ring", "Conn", "UniversalClient":
		return nil
	}
	return fmt.Errorf("%s may be a pipeline itself, or of the code's own", s.of(sel.X))
}

// nameIn is how a package calls a type, or what it points to; "" if it is of another.
func nameIn(t types.Type, pkg *types.Package) string {
	named, ok := types.Unalias(deref(t)).(*types.Named)
	if !ok || named.Obj().Pkg() != pkg {
		return ""
	}
	return named.Obj().Name()
}

// dropCmders leaves out the first of the two results, if nobody uses it.
func (s *source) dropCmders(in ast.Node) error {
	n, ok := in.(*ast.AssignStmt)
	if !ok {
		if _, ok := in.(*ast.ExprStmt); ok {
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
	s.replacePart(n.Lhs[0].Pos(), n.Lhs[1].Pos(), "")
	return nil
}
