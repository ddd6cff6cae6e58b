package rewrite

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/symbolic"
)

// silent are the functions of the standard library that neither block nor reach outside the process, by package: all of
// them if the list is empty.
var silent = map[string]map[string]bool{
	"strconv": {}, "strings": {}, "bytes": {}, "unicode": {}, "unicode/utf8": {}, "errors": {}, "math": {}, "math/bits": {},
	"cmp": {}, "sort": {}, "slices": {}, "maps": {}, "net/url": {}, "path": {},
	"encoding/base64": set("EncodeToString DecodeString EncodedLen DecodedLen"), "encoding/hex": set("EncodeToString DecodeString"),
	"encoding/binary": set("Uint16 Uint32 Uint64 Uvarint Varint AppendUint16 AppendUint32 AppendUint64 AppendUvarint AppendVarint"),
	"crypto/sha256":   set("Sum256 Sum224"), "crypto/sha1": set("Sum"), "crypto/md5": set("Sum"),
	"hash/crc32":    set("ChecksumIEEE Checksum"),
	"context":       set("Err Value Deadline Cause"),
	"fmt":           set("Sprintf Sprint Sprintln Errorf Sscanf Sscan Append Appendf Appendln"),
	"encoding/json": set("Marshal MarshalIndent Unmarshal Valid"),
	"time": set("Now Since Until Unix UnixMilli UnixMicro Date Parse ParseDuration Add AddDate Sub After Before Equal Format " +
		"UTC Local In Truncate Round UnixNano Seconds Milliseconds Microseconds Nanoseconds Minutes Hours " +
		"IsZero Year Month Day String Compare Second"),
}

// computes refuses code that may block, or that may change a variable of the key. A Store may run the function under the
// lock of its key, where code that waits for another caller of that key would wait for itself. Changes of other
// variables stay: the function runs as often as under WATCH.
func (u *update) computes(body ast.Node, deep int) (err error) {
	if v := u.assigned(body, u.fixed); v != nil {
		return fmt.Errorf("%s, of which the key or the context is made, may be assigned", v.Name())
	}
	ast.Inspect(body, func(n ast.Node) bool {
		if err != nil {
			return false
		}
		refuse := func(what string) { err = fmt.Errorf("the function %s", what) }
		switch n := n.(type) {
		case *ast.GoStmt:
			refuse("starts a goroutine")
		case *ast.DeferStmt:
			refuse("defers a call")
		case *ast.LabeledStmt:
			refuse("has a label")
		case *ast.SelectStmt, *ast.SendStmt:
			refuse("uses a channel")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				refuse("uses a channel")
			}
		case *ast.RangeStmt:
			switch u.info.TypeOf(n.X).Underlying().(type) {
			case *types.Chan:
				refuse("uses a channel")
			case *types.Signature:
				refuse("iterates over a function")
			}
		case *ast.CallExpr:
			err = u.quiet(n, body, deep)
		}
		return err == nil
	})
	return err
}

// quiet refuses a call that may block.
func (u *update) quiet(call *ast.CallExpr, body ast.Node, deep int) error {
	unproven := fmt.Errorf("cannot prove that %s only computes, as a function must under the lock of its key", u.of(call.Fun))
	if u.info.Types[call.Fun].IsType() || u.replaced(call) {
		return nil
	}
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.FuncLit:
		return nil // its statements are in the body
	case *ast.Ident:
		if b, ok := u.info.Uses[fun].(*types.Builtin); ok {
			if slices.Contains([]string{"print", "println", "close", "recover"}, b.Name()) {
				return fmt.Errorf("the function calls %s", b.Name())
			}
			return nil
		}
	}
	fn := symbolic.Callee(u.info, call)
	switch {
	case fn == nil:
		return unproven
	case fn.Pkg() == nil && fn.Name() == "Error":
		return nil
	case fn.Pkg() == u.redis:
		return fmt.Errorf("%s is another command, outside the transaction", u.of(call.Fun))
	}
	names, standard := silent[fn.Pkg().Path()]
	if !standard {
		if !u.quietFunc(fn, deep) {
			return unproven
		}
		return nil
	}
	recv := fn.Signature().Recv()
	if len(names) > 0 && !names[fn.Name()] || recv != nil && types.IsInterface(recv.Type()) && fn.Pkg().Path() != "context" {
		return fmt.Errorf("%s is called", u.of(call.Fun))
	}
	for i, param := range slices.Collect(fn.Signature().Params().Variables()) {
		named, _ := types.Unalias(param.Type()).(*types.Named)
		if named != nil && named.Obj().Pkg() != nil && types.IsInterface(named) && !isOf(named, "context", "Context") {
			return fmt.Errorf("%s calls the methods of what it is given", u.of(call.Fun))
		}
		if i < len(call.Args) && !u.handedOn(call.Args[i], body, deep) {
			return fmt.Errorf("cannot prove that %s, which is handed on, only computes", u.of(call.Args[i]))
		}
	}
	for _, arg := range call.Args {
		p, pointer := u.info.TypeOf(arg).Underlying().(*types.Pointer)
		writes := slices.Contains([]string{"Unmarshal", "Sscan", "Sscanf"}, fn.Name())
		if pointer && writes && holds(p.Elem(), u.fixed, map[types.Type]bool{}) != nil {
			return fmt.Errorf("%s may change a variable of the key", u.of(call.Fun))
		}
	}
	return nil
}

// quietFunc reports whether the body of a function of this package computes.
func (u *update) quietFunc(fn *types.Func, deep int) bool {
	decl := u.declOf(fn)
	return decl != nil && deep > 0 && u.computes(decl.Body, deep-1) == nil
}

// handedOn reports whether an argument is no function, or one that computes.
func (u *update) handedOn(e ast.Expr, body ast.Node, deep int) bool {
	if _, ok := u.info.TypeOf(e).Underlying().(*types.Signature); !ok || u.isNil(e) {
		return true
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.FuncLit, *ast.CallExpr:
		return within(body, e.Pos()) // it is checked in its place
	case *ast.Ident:
		fn, ok := u.info.Uses[e].(*types.Func)
		return ok && u.quietFunc(fn, deep)
	case *ast.SelectorExpr:
		fn, ok := u.info.Uses[e.Sel].(*types.Func)
		if !ok || fn.Pkg() == nil || fn.Signature().Recv() != nil {
			return false
		}
		names, standard := silent[fn.Pkg().Path()]
		return standard && (len(names) == 0 || names[fn.Name()])
	}
	return false
}

// replaced reports whether a call belongs to the transaction, and so to the code that the update replaces.
func (u *update) replaced(call *ast.CallExpr) bool {
	for e := ast.Expr(call); ; {
		inner, recv, _ := method(e)
		if inner == nil || recv == nil {
			return false
		}
		if obj := u.object(recv); obj != nil {
			return obj == u.tx || obj == u.commit.pipe
		}
		e = recv
	}
}
