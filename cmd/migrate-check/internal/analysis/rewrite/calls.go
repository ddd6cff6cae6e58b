package rewrite

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// effectOf refuses a call that may do more than compute.
func (u *update) effectOf(call *ast.CallExpr) error {
	if u.exchanged[call] {
		return nil
	}
	for _, e := range append([]ast.Expr{u.read.key, u.read.ctx, u.commit.key}, u.commit.ctxs...) {
		if within(e, call.Pos()) {
			return nil // as plain as that of the Watch
		}
	}
	return u.quiet(call, u.fn, depth)
}

// silent are functions of the standard library that compute, by package: all, or these.
var silent = map[string]string{
	"strconv": "", "strings": "", "bytes": "", "unicode": "", "unicode/utf8": "", "errors": "", "math": "", "math/bits": "",
	"cmp": "", "sort": "", "slices": "", "maps": "", "net/url": "", "path": "",
	"encoding/base64": "EncodeToString DecodeString EncodedLen DecodedLen", "encoding/hex": "EncodeToString DecodeString",
	"encoding/binary": "Uint16 Uint32 Uint64 Uvarint Varint AppendUint16 AppendUint32 AppendUint64 AppendUvarint AppendVarint",
	"crypto/sha256":   "Sum256 Sum224", "crypto/sha1": "Sum", "crypto/md5": "Sum", "hash/crc32": "ChecksumIEEE Checksum",
	"context":       "Err Value Deadline Cause",
	"fmt":           "Sprintf Sprint Sprintln Errorf Sscanf Sscan Append Appendf Appendln",
	"encoding/json": "Marshal MarshalIndent Unmarshal Valid",
	"time": "Now Since Until Unix UnixMilli UnixMicro Date Parse ParseDuration Add AddDate Sub After Before Equal Format " +
		"UTC Local In Truncate Round UnixNano Seconds Milliseconds Microseconds Nanoseconds Minutes Hours " +
		"IsZero Year Month Day String Compare",
}

// changing are those of them that change what they are given.
var changing = set("sort slices maps")

// quiet refuses a call that may have an effect beyond a function.
func (u *update) quiet(call *ast.CallExpr, fn ast.Node, deep int) error {
	if u.info.Types[call.Fun].IsType() {
		return nil
	}
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
		if _, ok := u.info.Uses[id].(*types.Builtin); ok {
			switch id.Name {
			case "recover":
				return errRecovers
			case "print", "println", "close":
				return fmt.Errorf("the function calls %s", id.Name)
			case "copy", "delete", "clear":
				return u.changes(call, 0, fn)
			}
			return nil
		}
	}
	if lit, ok := ast.Unparen(call.Fun).(*ast.FuncLit); ok && within(fn, lit.Pos()) {
		return nil // its statements are looked at where they stand
	}
	callee := u.callee(call)
	unproven := fmt.Errorf("cannot prove that %s only computes, as a function must under the lock of its key", u.of(call.Fun))
	if callee == nil || callee.Pkg() == nil {
		if callee != nil && callee.Name() == "Error" {
			return nil
		}
		return unproven
	}
	if names, ok := silent[callee.Pkg().Path()]; ok {
		if names != "" && !set(names)[callee.Name()] {
			return fmt.Errorf("%s is called", u.of(call.Fun))
		}
		return u.arguments(call, callee, fn)
	}
	if callee.Pkg() == u.redis {
		return fmt.Errorf("%s is another command, outside the transaction", u.of(call.Fun))
	}
	decl := u.declOf(callee)
	if decl == nil || deep == 0 || u.noisy(decl, deep-1) {
		return unproven
	}
	// A method may change its receiver, if that is the function's own.
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && u.changesReceiver(decl) {
		if root := u.root(sel.X); root == nil || !u.local(root, fn) || !u.wholly(root) {
			return unproven
		}
	}
	return nil
}

// arguments refuses a call of the standard library that changes what is declared outside.
func (u *update) arguments(call *ast.CallExpr, callee *types.Func, fn ast.Node) error {
	if recv := callee.Signature().Recv(); recv != nil && !isContext(recv.Type()) {
		switch recv.Type().Underlying().(type) {
		case *types.Pointer, *types.Map, *types.Slice, *types.Interface:
			sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
			if !ok {
				return fmt.Errorf("%s is called", u.of(call.Fun))
			}
			if root := u.root(sel.X); root == nil || !u.local(root, fn) || !u.wholly(root) {
				return fmt.Errorf("%s is called, and may change what is declared outside", u.of(call.Fun))
			}
		}
	}
	for param := range callee.Signature().Params().Variables() {
		if named, ok := types.Unalias(param.Type()).(*types.Named); ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "io" {
			return fmt.Errorf("%s reads from somewhere, or writes to it", u.of(call.Fun))
		}
	}
	name, _, _ := strings.Cut(callee.Pkg().Path(), "/")
	for i, arg := range call.Args {
		switch u.info.TypeOf(arg).Underlying().(type) {
		case *types.Pointer:
		case *types.Signature:
			if err := u.handedOn(arg, fn); err != nil {
				return err
			}
			continue
		case *types.Slice, *types.Map, *types.Interface:
			if !changing[name] {
				continue
			}
		default:
			continue
		}
		if err := u.changes(call, i, fn); err != nil {
			return err
		}
	}
	return nil
}

// handedOn refuses a function that is given to another, unless it is seen what it does.
func (u *update) handedOn(e ast.Expr, fn ast.Node) error {
	switch e := ast.Unparen(e).(type) {
	case *ast.FuncLit:
		if within(fn, e.Pos()) {
			return nil // its statements are looked at where they stand
		}
	case *ast.Ident, *ast.SelectorExpr:
		id, ok := e.(*ast.Ident)
		if !ok {
			id = e.(*ast.SelectorExpr).Sel
		}
		callee, ok := u.info.Uses[id].(*types.Func)
		if !ok || callee.Pkg() == nil || callee.Signature().Recv() != nil {
			break
		}
		if names, ok := silent[callee.Pkg().Path()]; ok && (names == "" || set(names)[callee.Name()]) {
			return nil
		}
		if decl := u.declOf(callee); decl != nil && !u.noisy(decl, depth-1) {
			return nil
		}
	}
	return fmt.Errorf("cannot prove that %s, which is handed on, only computes", u.of(e))
}

// changes refuses an argument that is changed, unless it is the function's own.
func (u *update) changes(call *ast.CallExpr, i int, fn ast.Node) error {
	arg := call.Args[i]
	if root := u.root(arg); root != nil && u.local(root, fn) && u.wholly(root) {
		return nil
	}
	if u.isNew(arg, nil) {
		return nil
	}
	return fmt.Errorf("%s may change %s, which is declared outside", u.of(call.Fun), u.of(arg))
}

// noisy reports whether a function of this package may have an effect beyond its receiver.
func (u *update) noisy(decl *ast.FuncDecl, deep int) bool {
	noisy := false
	var recv types.Object
	if decl.Recv != nil && len(decl.Recv.List[0].Names) == 1 {
		recv = u.info.Defs[decl.Recv.List[0].Names[0]]
	}
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		if noisy {
			return false
		}
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, lhs := range n.Lhs {
				noisy = noisy || !u.keeps(lhs, decl, recv)
			}
		case *ast.IncDecStmt:
			noisy = !u.keeps(n.X, decl, recv)
		case *ast.RangeStmt:
			for _, lhs := range []ast.Expr{n.Key, n.Value} {
				noisy = noisy || n.Tok == token.ASSIGN && lhs != nil && !u.keeps(lhs, decl, recv)
			}
			noisy = noisy || u.control(n) != nil
		case *ast.CallExpr:
			noisy = u.quiet(n, decl.Body, deep) != nil
		case *ast.GoStmt, *ast.DeferStmt, *ast.SelectStmt, *ast.SendStmt:
			noisy = true
		case *ast.UnaryExpr:
			noisy = u.control(n) != nil
		}
		return !noisy
	})
	return noisy
}

// keeps reports whether an assignment in a function concerns its own variables, or its receiver.
func (u *update) keeps(lhs ast.Expr, decl *ast.FuncDecl, recv types.Object) bool {
	if id, ok := lhs.(*ast.Ident); ok && id.Name == "_" {
		return true
	}
	root := u.root(lhs)
	switch {
	case root == nil:
		return false
	case root == recv:
		return true
	case within(decl.Body, root.Pos()):
		return u.direct(lhs)
	}
	// A parameter of its own, as a whole.
	_, whole := ast.Unparen(lhs).(*ast.Ident)
	return whole && within(decl, root.Pos())
}

// changesReceiver reports whether a method assigns parts of its receiver.
func (u *update) changesReceiver(decl *ast.FuncDecl) bool {
	if decl.Recv == nil || len(decl.Recv.List[0].Names) != 1 {
		return false
	}
	recv, found := u.info.Defs[decl.Recv.List[0].Names[0]], false
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, lhs := range n.Lhs {
				found = found || recv != nil && u.root(lhs) == recv
			}
		case *ast.IncDecStmt:
			found = found || recv != nil && u.root(n.X) == recv
		}
		return true
	})
	return found
}
