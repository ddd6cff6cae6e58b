package rewrite

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// update is the rewriting of a watch that writes.
type update struct {
	*watch
	read   *read
	commit commit
	fixed  map[types.Object]bool // variables that must keep their values
	cur    string                // name of the present value
	rmw    string                // name of package rmw
}

// update rewrites a watch that gets its key, computes, and writes it, to the Update of a store.
func (w *watch) update(asked string) (*analysis.SuggestedFix, error) {
	if len(w.keys) != 1 {
		return nil, fmt.Errorf("%d keys are watched, and an Update is of one", len(w.keys))
	}
	u := &update{watch: w, cur: "cur"}
	for _, step := range []func() error{u.onlyTwoUses, u.findRead, u.findCommit, u.agree} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	u.fixed = u.vars(u.ctx, u.keys[0])
	for v := range u.fixed {
		switch v.Type().Underlying().(type) {
		case *types.Slice, *types.Map:
			return nil, fmt.Errorf("the key is made of the elements of %s, which may change", v.Name())
		}
	}
	if err := u.computes(u.fn.Body, depth); err != nil {
		return nil, err
	}
	store, err := w.store(asked)
	if err != nil {
		return nil, err
	}
	for _, pos := range []token.Pos{w.call.Pos(), w.fn.Pos(), u.commit.pos()} {
		for name := range strings.FieldsSeq("error nil string int int64 uint64 float64 max") {
			if obj := w.lookup(name, pos); obj != types.Universe.Lookup(name) {
				return nil, fmt.Errorf("%s is the name of something else there", name)
			}
		}
	}
	if u.rmw, err = w.name(rmwPath, w.call.Pos(), w.fn.Pos(), u.commit.pos()); err != nil {
		return nil, err
	}
	u.cur = w.fresh("cur")
	place := func() error { return u.place(store) }
	for _, step := range []func() error{u.onlyOnce, place, u.signature, u.writeRead, u.writeReturns, u.writeCommit} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	what := "Rewrite to an Update of " + store
	if u.field() {
		what += ", which reads all fields of the hash"
	}
	return w.fix(what)
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
	if len(u.uses) != 2 {
		return errors.New("the transaction is used more than twice: more than one read, or more than one write")
	}
	if u.uses[0].name[0] == 'T' || u.uses[1].name[0] != 'T' {
		return errors.New("it does not read first, and then write")
	}
	return nil
}

// findRead finds the statement that reads.
func (u *update) findRead() error {
	r, why := u.firstRead()
	if why != "" {
		return errors.New(why)
	}
	u.read = r
	if len(r.call.Args) != map[string]int{"Get": 2, "HGet": 3, "HGetAll": 2}[u.uses[0].name] {
		return fmt.Errorf("%s has an unusual number of arguments", u.uses[0].name)
	}
	if r.err == nil {
		return errors.New("it does not read first, and then write")
	}
	if !within(u.fn, r.err.Pos()) {
		return fmt.Errorf("%s, which is declared outside, gets the error of the read", r.err.Name())
	}
	if r.value == nil {
		return nil
	}
	id, ok := r.value.(*ast.Ident)
	if !ok {
		return errors.New("the answer is assigned to something else than a variable")
	}
	if v := u.info.ObjectOf(id); v != nil && !within(u.fn, v.Pos()) && !u.zero(v) {
		return fmt.Errorf("%s, which is declared outside with a value, is zero after a read that fails; an Update leaves it", id.Name)
	}
	return nil
}

// zero reports whether a variable still has its zero value at the call: it is declared without a value in the same
// round of each loop, and assigned by the function only.
func (u *update) zero(v types.Object) bool {
	zero := false
	ast.Inspect(u.around(), func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for _, name := range n.Names {
				zero = zero || u.info.Defs[name] == v && len(n.Values) == 0
			}
		case *ast.ForStmt, *ast.RangeStmt:
			zero = zero && !within(n, u.call.Pos())
		case *ast.AssignStmt, *ast.IncDecStmt:
			earlier := n != u.parent() && n.Pos() < u.call.Pos() && !within(u.fn, n.Pos())
			if earlier && u.assigned(n, map[types.Object]bool{v: true}) != nil {
				zero = false
			}
		}
		return true
	})
	return zero
}

// field reports whether a field of a hash is read. The Update reads all of them.
func (u *update) field() bool { return u.uses[0].name == "HGet" }

func (u *update) hash() bool { return u.uses[0].name != "Get" }

// agree refuses if the key that is watched, the one that is read and the one that is written differ, or their contexts.
func (u *update) agree() error {
	r, c := u.read, &u.commit
	for _, other := range []ast.Expr{r.call.Args[1], c.key} {
		if !u.same(u.keys[0], other) {
			return fmt.Errorf("%s is watched, but %s is used", u.of(u.keys[0]), u.of(other))
		}
	}
	for _, other := range []ast.Expr{r.call.Args[0], c.one.Args[0], c.exec.Args[0]} {
		if !u.same(u.ctx, other) || !u.plain(u.ctx) {
			return fmt.Errorf("the context is %s here, and %s there", u.of(u.ctx), u.of(other))
		}
	}
	switch {
	case len(r.call.Args) == 3 && !u.plain(r.call.Args[2]):
		return fmt.Errorf("the field %s is not a plain expression: calling it again may tell another", u.of(r.call.Args[2]))
	case c.method[0] == 'H' && !u.hash():
		return errors.New("a text is read, and a hash is written")
	case c.method == "Set" && u.hash():
		return errors.New("a hash is read, and a text is written")
	}
	return nil
}

// onlyOnce makes the function return TxFailedErr when an Update calls it again. So a conflict reaches the caller, which
// tries again or not, as with WATCH.
func (u *update) onlyOnce() error {
	stmt, err := u.beforeCall()
	if err != nil {
		return err
	}
	redis, err := u.name(u.redis.Path(), u.fn.Pos())
	if err != nil {
		return err
	}
	tried := u.fresh("tried")
	if u.fnVar == nil {
		u.insert(stmt.Pos(), tried+" := false\n")
	} else {
		u.insert(u.fnVar.Pos(), "var "+tried+" bool\n")
		u.insert(stmt.Pos(), tried+" = false\n")
	}
	if u.field() {
		u.insert(u.fn.Body.Lbrace+1, "\n// Update reads all fields of the hash, and its fields have one lock: see rmw.KindHash.")
	}
	u.insert(u.fn.Body.Lbrace+1, fmt.Sprintf("\n// The second call means a conflict. Return it, as WATCH did; without this, Update tries again.\n"+
		"if %[1]s {\nreturn %[2]s, %[3]s.TxFailedErr\n}\n%[1]s = true", tried, u.cur, redis))
	return nil
}

// beforeCall returns the statement of the call, if another one before it runs each time that the call does.
func (u *update) beforeCall() (ast.Stmt, error) {
	stmts := u.block(u.call.Pos())
	i := slices.IndexFunc(u.path, func(n ast.Node) bool { _, ok := n.(*ast.FuncLit); return ok })
	if i >= 0 && u.fnVar != nil && !within(u.path[i], u.fnVar.Pos()) {
		return nil, fmt.Errorf("%s is declared outside of the function that calls Watch", u.fnVar.Name())
	}
	for _, n := range u.path[1:] {
		switch n.(type) {
		case *ast.ParenExpr, *ast.AssignStmt, *ast.ExprStmt, *ast.ReturnStmt, *ast.IfStmt, *ast.SwitchStmt:
		default:
			return nil, errors.New("its result is part of an expression, or it stands in the head of a loop or behind a label")
		}
		if len(stmts) > 0 && n == ast.Node(stmts[0]) {
			return stmts[0], nil
		}
	}
	return nil, errors.New("it is not called by a function")
}

// place puts the update, which has two results, in the place of the call.
func (u *update) place(store string) error {
	key := fmt.Sprintf("%s.Key{Name: %s}", u.rmw, u.of(u.keys[0]))
	if u.hash() {
		key = fmt.Sprintf("%s.Key{Name: %s, Kind: %[1]s.KindHash}", u.rmw, u.of(u.keys[0]))
	}
	from, arg, head := u.call.Pos(), u.call.Args[1], fmt.Sprintf("%s.Update(%s, %s, ", store, u.of(u.ctx), key)
	switch n := u.parent().(type) {
	case *ast.ExprStmt:
	case *ast.AssignStmt:
		if len(n.Lhs) != 1 || n.Tok != token.DEFINE && n.Tok != token.ASSIGN {
			return errors.New("its result is assigned in an unusual way")
		}
		u.insert(n.Pos(), "_, ")
	case *ast.ReturnStmt:
		if len(n.Results) != 1 {
			return errors.New("its result is returned beside others")
		}
		err := "err"
		if scope := u.pass.Pkg.Scope().Innermost(u.call.Pos()); scope == nil || scope.Lookup(err) != nil {
			err = u.fresh("failure")
		}
		from, head = n.Pos(), fmt.Sprintf("_, %s := %s", err, head)
		u.insert(n.End(), "\nreturn "+err)
	default:
		return errors.New("its result is part of an expression")
	}
	u.replace(from, arg.Pos(), head)
	u.replace(arg.End(), u.call.End(), ")")
	return nil
}

// signature makes the function one that an Update takes.
func (u *update) signature() error {
	ctx := "_"
	if id, ok := ast.Unparen(u.ctx).(*ast.Ident); ok && isOf(u.info.TypeOf(id), "context", "Context") {
		for _, use := range u.usesIn(u.fn.Body, u.info.ObjectOf(id)) {
			if !within(u.read.call, use.Pos()) && use.Pos() < u.commit.pos() {
				ctx = id.Name
			}
		}
	}
	pkg, err := u.name("context", u.fn.Pos())
	u.replace(u.fn.Type.Pos(), u.fn.Type.End(),
		fmt.Sprintf("func(%s %s.Context, %s %s.Value) (%[4]s.Value, error)", ctx, pkg, u.cur, u.rmw))
	return err
}

// writeRead makes the read a command of the client with the present value as its answer. So the code that uses its
// value and its error stays as it is.
func (u *update) writeRead() error {
	pos := u.read.stmt.Pos()
	redis, err := u.name(u.redis.Path(), pos)
	if err != nil {
		return err
	}
	text, test, missing := u.cur+".Text()", "!"+u.cur+".Exists()", "nil"
	newResult := "NewStringResult"
	if u.uses[0].name == "HGetAll" {
		if newResult = "NewMapStringStringResult"; u.redis.Scope().Lookup(newResult) == nil {
			newResult = "NewStringStringMapResult" // of version 8
		}
		pkg, err := u.name("maps", pos)
		if err != nil {
			return err
		}
		text = fmt.Sprintf("%s.Collect(%s.All())", pkg, u.cur)
	} else {
		lines := ""
		missing = u.fresh("missing")
		if u.hash() {
			ok := u.fresh("ok")
			text, test = u.fresh("content"), "!"+ok
			lines = fmt.Sprintf("%s, %s := %s.Field(%s)\n", text, ok, u.cur, u.of(u.read.call.Args[2]))
		}
		lines += fmt.Sprintf("var %[1]s error\nif %[2]s {\n%[1]s = %[3]s.Nil\n}\n", missing, test, redis)
		u.insert(u.block(pos)[0].Pos(), lines)
		if id, ok := u.read.value.(*ast.Ident); ok && u.read.conv == "Bytes" && id.Name != "_" {
			if u.block(pos)[0] != u.read.stmt {
				return errors.New("the read stands in an if, and its bytes may be empty or nil")
			}
			u.insert(u.read.stmt.End(), fmt.Sprintf("\nif %[1]s == nil && %[2]s == nil {\n%[1]s = []byte{}\n}", id.Name, missing))
		}
	}
	u.replace(u.read.call.Pos(), u.read.call.End(), fmt.Sprintf("%s.%s(%s, %s)", redis, newResult, text, missing))
	return nil
}

// writeReturns makes each return leave the value as it is: with an error a Store ignores the value, and without one it
// writes nothing.
func (u *update) writeReturns() (err error) {
	ast.Inspect(u.fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if n.Pos() >= u.commit.pos() {
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

// writeCommit makes the commit the return of the new value.
func (u *update) writeCommit() error {
	text, err := u.stored()
	if err == nil {
		u.replace(u.commit.pos(), u.commit.stmts[len(u.commit.stmts)-1].End(), text)
	}
	return err
}
