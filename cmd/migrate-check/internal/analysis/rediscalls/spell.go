package rediscalls

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
)

// most limits the number of concatenated texts.
const most = 16

// spell returns the possible values of a text.
func (f *finder) spell(e ast.Expr) spelling {
	e = ast.Unparen(e)
	if v := f.pass.TypesInfo.Types[e].Value; v != nil && v.Kind() == constant.String {
		return spelling{texts: []string{constant.StringVal(v)}}
	}
	switch e := e.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		if v := f.variable(e); v != nil {
			return f.spellVar(v)
		}
	case *ast.IndexExpr: // commands["begin"], or words[0]
		at := f.pass.TypesInfo.Types[e.Index].Value
		if at != nil && at.Kind() == constant.Int && constant.Sign(at) == 0 {
			first, _ := f.firstOf(e.X)
			return first
		}
		elements, all := f.elements(e.X)
		return f.spellAny(f.at(at, elements), all)
	case *ast.TypeAssertExpr:
		return f.spell(e.X)
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return joined(f.spell(e.X), f.spell(e.Y))
		}
	case *ast.CallExpr:
		if len(e.Args) == 1 && (f.pass.TypesInfo.Types[e.Fun].IsType() || f.keepsText(e)) {
			return f.spell(e.Args[0])
		}
		return f.spellResult(e)
	}
	return unknown
}

// spellAny returns the possible values of one of several texts. all says that the list is complete.
func (f *finder) spellAny(list []ast.Expr, all bool) (s spelling) {
	for _, e := range list {
		s.add(f.spell(e))
	}
	s.unknown = s.unknown || !all || len(list) == 0
	return s
}

// joined concatenates two texts.
func joined(a, b spelling) spelling {
	if a.unknown || b.unknown || len(a.params) > 0 || len(b.params) > 0 || len(a.texts)*len(b.texts) > most {
		return unknown
	}
	var s spelling
	for _, before := range a.texts {
		for _, behind := range b.texts {
			s.texts = append(s.texts, before+behind)
		}
	}
	return s
}

// keepsText reports whether a call returns its argument, except for case and spaces.
func (f *finder) keepsText(call *ast.CallExpr) bool {
	fn := f.named(call.Fun)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "strings" {
		return false
	}
	return fn.Name() == "ToUpper" || fn.Name() == "ToLower" || fn.Name() == "TrimSpace"
}

// spellResult returns the possible results of a function of this package.
func (f *finder) spellResult(call *ast.CallExpr) (s spelling) {
	fn := f.named(call.Fun)
	if fn == nil || fn.Signature().Results().Len() != 1 {
		return unknown
	}
	body := f.body(fn.Origin())
	if body == nil || f.returning[fn] {
		return unknown
	}
	f.returning[fn] = true
	defer delete(f.returning, fn)
	var texts []ast.Expr
	all := true
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if texts = append(texts, n.Results...); len(n.Results) == 0 {
				all = false // a named result
			}
		}
		return true
	})
	s = f.spellAny(texts, all)
	s.unknown = s.unknown || len(s.params) > 0 // its arguments are not followed
	s.params = nil
	return s
}

// body is the body of a function of this package; nil if there is none.
func (f *finder) body(fn *types.Func) *ast.BlockStmt {
	if f.decls == nil {
		f.decls = maps.Collect(Decls(f.pass))
	}
	if decl := f.decls[fn]; decl != nil {
		return decl.Body
	}
	return nil
}

// spellVar returns the possible values of a text variable.
func (f *finder) spellVar(v *types.Var) (s spelling) {
	uses := f.uses(v)
	if uses == nil || uses.open || f.visiting[v] {
		return unknown
	}
	f.visiting[v] = true
	defer delete(f.visiting, v)
	if uses.param {
		s.params = append(s.params, v)
	}
	for _, value := range uses.values {
		s.add(f.spell(value))
	}
	for _, list := range uses.ranges { // for _, name := range []string{"MULTI", "EXEC"}
		elements, all := f.elements(list)
		s.add(f.spellAny(elements, all))
	}
	for _, list := range uses.keys {
		keys, all := f.mapKeys(list)
		s.add(f.spellAny(keys, all))
	}
	nothing := len(s.texts)+len(s.params) == 0 && v.IsField()
	s.unknown = s.unknown || nothing || f.shared(v)
	return s
}

// at selects the elements of literals at a known index.
func (f *finder) at(index constant.Value, elements []ast.Expr) (found []ast.Expr) {
	if index == nil {
		return elements
	}
	for _, element := range elements {
		key, ok := f.indices[element]
		if !ok || key.Kind() == index.Kind() && constant.Compare(key, token.EQL, index) {
			found = append(found, element)
		}
	}
	return found
}

// elements returns the known elements of a list or a map, and whether there are no others.
func (f *finder) elements(e ast.Expr) (elements []ast.Expr, all bool) {
	switch e := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		if !isList(f.pass.TypesInfo.TypeOf(e)) {
			return nil, false
		}
		for i, element := range e.Elts {
			at := constant.MakeInt64(int64(i))
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				element, at = pair.Value, f.pass.TypesInfo.Types[pair.Key].Value
			}
			if at != nil {
				f.indices[element] = at
			}
			elements = append(elements, element)
		}
		return elements, true
	case *ast.CallExpr:
		if f.isEmpty(e) {
			return nil, true
		}
		if !f.isAppend(e) {
			return nil, false
		}
		elements, all = f.elements(e.Args[0])
		if !e.Ellipsis.IsValid() {
			return append(elements, e.Args[1:]...), all
		}
		more, allMore := f.elements(e.Args[1])
		return append(elements, more...), all && allMore
	case *ast.IndexExpr: // of a list of lists
		lists, all := f.elements(e.X)
		return f.elementsOf(lists, all)
	case *ast.Ident, *ast.SelectorExpr:
		if v := f.variable(e); v != nil {
			return f.elementsOfVar(v)
		}
		return nil, f.isEmpty(e)
	}
	return nil, false
}

func isList(t types.Type) bool {
	if t == nil {
		return false
	}
	switch t.Underlying().(type) {
	case *types.Slice, *types.Array, *types.Map:
		return true
	}
	return false
}

// elementsOf returns the known elements of several lists.
func (f *finder) elementsOf(lists []ast.Expr, all bool) (elements []ast.Expr, known bool) {
	for _, list := range lists {
		more, allMore := f.elements(list)
		elements, all = append(elements, more...), all && allMore
	}
	return elements, all
}

// elementsOfVar returns the known elements of the list in a variable.
func (f *finder) elementsOfVar(v *types.Var) (elements []ast.Expr, all bool) {
	uses := f.uses(v)
	switch {
	case uses == nil || uses.open:
		return nil, false
	case f.visiting[v]:
		return nil, true // names = append(names, …) adds nothing of its own
	}
	f.visiting[v] = true
	defer delete(f.visiting, v)
	elements, all = f.elementsOf(uses.values, !uses.param && len(uses.keys) == 0 && !f.shared(v))
	for _, list := range uses.ranges {
		lists, allLists := f.elements(list)
		more, allMore := f.elementsOf(lists, allLists)
		elements, all = append(elements, more...), all && allMore
	}
	elements = append(elements, uses.firsts...)
	return append(elements, uses.elements...), all
}

// mapKeys returns the known keys of a map, and whether there are no others.
func (f *finder) mapKeys(e ast.Expr) (keys []ast.Expr, all bool) {
	v := f.variable(e)
	lists := []ast.Expr{ast.Unparen(e)}
	if v != nil {
		uses := f.uses(v)
		if uses == nil || uses.open || uses.param {
			return nil, false
		}
		lists, all = uses.values, !f.shared(v) && len(uses.elements)+len(uses.ranges)+len(uses.keys) == 0
	} else {
		all = true
	}
	for _, list := range lists {
		literal, ok := ast.Unparen(list).(*ast.CompositeLit)
		if !ok {
			all = false
			continue
		}
		for _, element := range literal.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				keys = append(keys, pair.Key)
			}
		}
	}
	return keys, all
}
