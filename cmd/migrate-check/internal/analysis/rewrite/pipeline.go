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

// pipeline is a transaction of one command.
type pipeline struct {
	pipe types.Object
	one  *ast.CallExpr // the command
	exec *ast.CallExpr // TxPipelined or Exec
	rest []ast.Stmt    // from the statement of exec on
}

// oneCommand reads TxPipelined(ctx, func(pipe) error { pipe.Set(…); return nil }), or pipe := TxPipeline(); pipe.Set(…);
// pipe.Exec(ctx). The statements begin with that of the call.
func (s *source) oneCommand(call *ast.CallExpr, stmts []ast.Stmt) (*pipeline, error) {
	if _, _, name := method(call); name == "TxPipeline" {
		return s.straight(call, stmts)
	}
	if len(call.Args) != 2 {
		return nil, errors.New("TxPipelined is called in an unusual way")
	}
	fn, ok := ast.Unparen(call.Args[1]).(*ast.FuncLit)
	if !ok {
		return nil, errors.New("the function that fills the pipeline is declared elsewhere")
	}
	if fn.Type.Params.NumFields() != 1 || len(fn.Type.Params.List[0].Names) != 1 {
		return nil, errors.New("the pipeline has no name")
	}
	p := &pipeline{pipe: s.info.Defs[fn.Type.Params.List[0].Names[0]], exec: call, rest: stmts}
	if uses := s.usesIn(fn.Body, p.pipe); len(uses) != 1 {
		return nil, fmt.Errorf("there are %d uses of the pipeline, and one command is rewritten", len(uses))
	}
	var e ast.Expr
	list := fn.Body.List
	if ret, ok := list[len(list)-1].(*ast.ReturnStmt); ok && len(ret.Results) == 1 {
		switch _, recv, name := method(ret.Results[0]); {
		case len(list) == 1 && name == "Err": // return pipe.Set(…).Err()
			e = recv
		case len(list) == 2 && s.isNil(ret.Results[0]): // pipe.Set(…); return nil
			stmt, ok := list[0].(*ast.ExprStmt)
			if !ok {
				return nil, errors.New("the answer of the command is kept, or the command stands in a branch")
			}
			e = stmt.X
		}
	}
	if p.one = s.commandOf(e, p.pipe); p.one == nil {
		return nil, errors.New("the function that fills the pipeline does more than that")
	}
	return p, nil
}

// commandOf returns a call of a method of the pipeline; nil if it is another expression.
func (s *source) commandOf(e ast.Expr, pipe types.Object) *ast.CallExpr {
	if call, recv, _ := method(e); recv != nil && s.object(recv) == pipe && !call.Ellipsis.IsValid() {
		return call
	}
	return nil
}

// straight reads pipe := c.TxPipeline(); pipe.Set(…); _, err := pipe.Exec(ctx).
func (s *source) straight(call *ast.CallExpr, stmts []ast.Stmt) (*pipeline, error) {
	unusual := errors.New("a TxPipeline is not followed by one command and Exec")
	if len(stmts) == 0 {
		return nil, unusual
	}
	n, ok := stmts[0].(*ast.AssignStmt)
	if !ok || n.Tok != token.DEFINE || len(n.Lhs) != 1 || len(n.Rhs) != 1 || ast.Unparen(n.Rhs[0]) != ast.Expr(call) {
		return nil, errors.New("the pipeline is not assigned to a new variable")
	}
	p := &pipeline{pipe: s.object(n.Lhs[0])}
	commands, called := 0, 0
	for e := range rediscalls.Each[*ast.CallExpr](s.around()) {
		if _, recv, name := method(e); recv != nil && p.pipe != nil && s.object(recv) == p.pipe {
			called++
			if name != "Exec" {
				commands++
			}
		}
	}
	switch {
	case called != len(s.usesIn(s.around(), p.pipe)):
		return nil, errors.New("the pipeline is handed on, so its commands are not all seen")
	case commands != 1:
		return nil, fmt.Errorf("the transaction has %d commands, and one command is rewritten", commands)
	case len(stmts) < 3:
		return nil, unusual
	}
	p.rest = stmts[2:]
	if stmt, ok := stmts[1].(*ast.ExprStmt); ok {
		p.one = s.commandOf(stmt.X, p.pipe)
	}
	var exec ast.Expr
	third, _ := head(stmts[2])
	switch n := third.(type) {
	case *ast.ExprStmt:
		exec = n.X
	case *ast.AssignStmt:
		exec = n.Rhs[0]
	}
	var name string
	p.exec, _, name = method(exec)
	if p.one == nil || s.commandOf(exec, p.pipe) == nil || name != "Exec" || len(p.exec.Args) != 1 {
		return nil, unusual
	}
	return p, nil
}

// head splits an if into the statement that it begins with and itself without that. Any other statement has no rest.
func head(stmt ast.Stmt) (first ast.Stmt, rest []ast.Stmt) {
	if n, ok := stmt.(*ast.IfStmt); ok {
		bare := *n
		bare.Init = nil
		return n.Init, []ast.Stmt{&bare}
	}
	return stmt, nil
}

// repeatable are the writes with the same effect however often they are sent.
var repeatable = set("Set HSet HMSet Del Unlink HDel SAdd SRem ZAdd ZRem Expire PExpire ExpireAt PExpireAt Persist")

// single rewrites a transaction of one command to the command, which is atomic by itself.
func single(s *source, call *rediscalls.Call) (*analysis.SuggestedFix, error) {
	if call.Library.Name != rediscalls.GoRedis || call.Library.Major < 8 {
		return nil, fmt.Errorf("it is of go-redis v%d; version 8 or later is rewritten", call.Library.Major)
	}
	_, client, _ := method(s.call)
	if client == nil || !s.plain(client) {
		return nil, errors.New("the client is not a plain expression")
	}
	redis, of := call.Func.Pkg(), s.info.TypeOf(client)
	if isTx(of, redis) {
		return nil, errors.New("it belongs to a Watch: see there")
	}
	stmts := s.block(s.call.Pos())
	p, err := s.oneCommand(s.call, stmts)
	if err != nil {
		return nil, err
	}
	if recv := call.Func.Signature().Recv(); !types.IsInterface(of) && recv != nil {
		of = recv.Type()
	}
	switch typeName(of, redis) {
	case "Client", "ClusterClient", "Ring", "Conn", "UniversalClient":
	default:
		return nil, fmt.Errorf("%s may be a pipeline itself, or of the code's own", s.of(client))
	}
	_, _, name := method(p.one)
	obj, _, _ := types.LookupFieldOrMethod(s.info.TypeOf(client), true, s.pass.Pkg, name)
	switch fn, ok := obj.(*types.Func); {
	case !repeatable[name] && !reads[name]:
		return nil, fmt.Errorf("go-redis sends %s again if its answer is lost, and a transaction only once", name)
	case !ok || fn.Pkg() != redis:
		return nil, fmt.Errorf("%s has no %s of the library", s.of(client), name)
	case len(p.one.Args) < 2:
		return nil, fmt.Errorf("%s has no key, so it may go to another server than a transaction", name)
	case reads[name] && typeName(s.info.TypeOf(client), redis) != "Client":
		return nil, fmt.Errorf("%s may read from another server than a transaction", name)
	case !s.plain(p.one.Args[0]) || !s.same(p.exec.Args[0], p.one.Args[0]):
		return nil, errors.New("the command has another context than the transaction")
	}
	if err := s.dropCmders(p); err != nil {
		return nil, err
	}
	if len(p.rest) > 0 && p.exec != s.call {
		s.replace(stmts[0].Pos(), stmts[2].Pos(), "")
	}
	s.replace(p.exec.Pos(), p.exec.End(), fmt.Sprintf("%s.%s(%s).Err()", s.of(client), name, s.between(p.one.Args[0].Pos(), p.one.Rparen)))
	return s.fix("Send the one command without MULTI and EXEC")
}

// dropCmders leaves out the first of the two results, unless it is used.
func (s *source) dropCmders(p *pipeline) error {
	in := s.parent()
	if p.exec != s.call {
		in, _ = head(p.rest[0])
	}
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
	s.replace(n.Lhs[0].Pos(), n.Lhs[1].Pos(), "")
	return nil
}
