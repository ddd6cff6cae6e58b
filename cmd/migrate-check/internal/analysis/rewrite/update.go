package rewrite

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// update is the rewriting of a watch that writes.
type update struct {
	*watch
	read   read
	commit commit
	cur    string // what the present value is called
	rmw    string // what package rmw is called

	// exchanged are the calls that are not made any more.
	exchanged map[*ast.CallExpr]bool
}

// update rewrites a watch that gets its key, computes, and writes it, to the Update of a store.
func (w *watch) update(o Options) (*analysis.SuggestedFix, error) {
	if len(w.keys) != 1 {
		return nil, fmt.Errorf("%d keys are watched, and an Update is of one", len(w.keys))
	}
	u := &update{watch: w, exchanged: map[*ast.CallExpr]bool{}}
	for _, step := range []func() error{u.onlyTwoUses, u.findRead, u.findCommit, u.agree, u.stable, u.effects} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	store, err := w.store(o)
	if err != nil {
		return nil, err
	}
	if err := w.builtins(w.call.Pos(), w.fn.Pos(), u.commit.pos()); err != nil {
		return nil, err
	}
	if u.rmw, err = w.name(rmwPath, w.call.Pos(), w.fn.Pos(), u.commit.pos()); err != nil {
		return nil, err
	}
	u.cur = w.fresh("cur", "present", "was")
	key := fmt.Sprintf("%s.Key{Name: %s}", u.rmw, w.of(w.keys[0]))
	if u.read.hash() {
		key = fmt.Sprintf("%s.Key{Name: %s, Kind: %s.KindHash}", u.rmw, w.of(w.keys[0]), u.rmw)
	}
	if err := u.onlyOnce(); err != nil {
		return nil, err
	}
	if err := w.placeUpdate(store, key); err != nil {
		return nil, err
	}
	for _, step := range []func() error{u.signature, u.writeRead, u.writeReturns, u.writeCommit} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return w.fix("Rewrite to an Update of " + store)
}

// builtins refuses where a name that new code uses is not Go's own.
func (w *watch) builtins(at ...token.Pos) error {
	for _, pos := range at {
		scope := w.pass.Pkg.Scope().Innermost(pos)
		for name := range strings.FieldsSeq("error nil string byte int64 uint64 float64 max") {
			if scope == nil {
				continue
			}
			if _, obj := scope.LookupParent(name, pos); obj != types.Universe.Lookup(name) {
				return fmt.Errorf("%s is the name of something else there", name)
			}
		}
	}
	return nil
}

// onlyTwoUses refuses a function that does more than to read and to write.
func (u *update) onlyTwoUses() error {
	if len(u.uses) == 1 {
		return errors.New("the key is not read before it is written: a Set overwrites a key of any type, an Update does not")
	}
	for _, use := range u.uses {
		switch use.name {
		case "Get", "HGet", "HGetAll", "TxPipelined", "TxPipeline":
		default:
			return fmt.Errorf("%s is neither Get, HGet, HGetAll nor TxPipelined", use.name)
		}
	}
	for _, use := range u.uses {
		u.exchanged[use.call] = true
	}
	if len(u.uses) != 2 {
		return errors.New("the transaction is used more than twice: more than one read, or more than one write")
	}
	if u.uses[0].name[0] == 'T' || u.uses[1].name[0] != 'T' {
		return errors.New("it does not read first, and then write")
	}
	return nil
}

// agree refuses if what is read is not what is watched, or not what is written.
func (u *update) agree() error {
	key := u.keys[0]
	for _, other := range []ast.Expr{u.read.key, u.commit.key} {
		if !u.same(key, other) {
			return fmt.Errorf("%s is watched, but %s is used", u.of(key), u.of(other))
		}
	}
	for _, other := range append(u.commit.ctxs, u.read.ctx) {
		if !u.same(u.ctx, other) || !u.plain(u.ctx) && !u.background(u.ctx) {
			return fmt.Errorf("the context is %s here, and %s there", u.of(u.ctx), u.of(other))
		}
	}
	if u.read.field != nil && !u.plain(u.read.field) {
		return fmt.Errorf("the field %s is not a plain expression: calling it again may tell another", u.of(u.read.field))
	}
	if len(u.usesIn(u.commit.call, u.read.err)) > 0 {
		return fmt.Errorf("%s of the read is used for what is written", u.read.err.Name())
	}
	if u.commit.hashOnly && !u.read.hash() {
		return errors.New("a text is read, and a hash is written")
	}
	if u.commit.method == "Set" && u.read.hash() {
		return errors.New("a hash is read, and a text is written")
	}
	return nil
}

// background reports whether a context is one that never ends.
func (s *source) background(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := s.callee(call)
	return fn != nil && (fn.FullName() == "context.Background" || fn.FullName() == "context.TODO")
}

// stable refuses if what the key is made of changes on the way.
func (u *update) stable() error {
	inKey := u.vars(u.keys[0])
	var err error
	assigned := func(places ...ast.Expr) {
		for _, place := range places {
			if place == nil {
				continue
			}
			for v := range u.vars(place) {
				if inKey[v] {
					err = fmt.Errorf("%s, of which the key is made, is assigned", v.Name())
				}
			}
		}
	}
	ast.Inspect(u.fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			assigned(n.Lhs...)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				assigned(n.Key, n.Value)
			}
		case *ast.IncDecStmt:
			assigned(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				if v := u.root(n.X); v != nil && inKey[v] {
					err = fmt.Errorf("the address of %s, of which the key is made, is taken", v.Name())
				}
			}
		}
		return err == nil
	})
	return err
}

// signature makes the function one that an Update takes.
func (u *update) signature() error {
	ctx := "_"
	if id, ok := ast.Unparen(u.ctx).(*ast.Ident); ok && isContext(u.info.TypeOf(id)) {
		for _, use := range u.usesIn(u.fn.Body, u.info.ObjectOf(id)) {
			if !within(u.read.stmt, use.Pos()) && use.Pos() < u.commit.pos() {
				ctx = id.Name
			}
		}
	}
	pkg, err := u.name("context", u.fn.Pos())
	if err != nil {
		return err
	}
	u.replacePart(u.fn.Type.Pos(), u.fn.Type.End(),
		fmt.Sprintf("func(%s %s.Context, %s %s.Value) (%[4]s.Value, error)", ctx, pkg, u.cur, u.rmw))
	return nil
}

func isContext(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == "Context" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "context"
}

// writeReturns has each return say that the value stays: with an error it is not looked at,
// and without one nothing is written, as before.
func (u *update) writeReturns() error {
	var err error
	ast.Inspect(u.fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if u.read.covers(n.Pos()) || n.Pos() >= u.commit.pos() {
				return false
			}
			if len(n.Results) != 1 {
				err = errors.New("a return has no value")
				return false
			}
			u.insert(n.Results[0].Pos(), u.cur+", ")
		}
		return true
	})
	return err
}
