package reach

import (
	"cmp"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// exportedMethods are the exported methods of a type, and of a pointer to it.
func exportedMethods(prog *ssa.Program, t *ssa.Type) (fns []*ssa.Function) {
	if types.IsInterface(t.Type()) {
		return nil
	}
	if named, ok := types.Unalias(t.Type()).(*types.Named); ok && named.TypeParams().Len() > 0 {
		for method := range named.Methods() {
			if fn := prog.FuncValue(method); fn != nil && method.Exported() {
				fns = append(fns, fn)
			}
		}
		return fns
	}
	return methodSets{prog: prog}.of(types.NewPointer(t.Type()))
}

// invoked are the ids of unexported methods with calls through interfaces.
func invoked(all map[*ssa.Function]bool) map[string]bool {
	ids := map[string]bool{}
	for fn := range all {
		for _, block := range fn.Blocks {
			for _, instruction := range block.Instrs {
				c, ok := instruction.(ssa.CallInstruction)
				if ok && c.Common().IsInvoke() && !c.Common().Method.Exported() {
					ids[c.Common().Method.Id()] = true
				}
			}
		}
	}
	return ids
}

// methodSets caches the methods that a call through an interface of another package may reach, by type.
type methodSets struct {
	prog    *ssa.Program
	invoked map[string]bool
}

// of returns the exported methods of a type, and the unexported ones of interfaces: a
// value may come back from a package without bodies, as from a queue.
func (m methodSets) of(t types.Type) (fns []*ssa.Function) {
	if types.IsInterface(t) {
		return nil
	}
	set := m.prog.MethodSets.MethodSet(t)
	for selection := range set.Methods() {
		if !selection.Obj().Exported() && !m.invoked[selection.Obj().Id()] {
			continue
		}
		if fn := m.prog.MethodValue(selection); fn != nil {
			fns = append(fns, fn)
		}
	}
	return fns
}

// nameOf is the name of a function with its package: "store.(*Store).Take".
func nameOf(fn *ssa.Function) string {
	if fn.Origin() != nil {
		fn = fn.Origin()
	}
	name := fn.Name()
	if recv := fn.Signature.Recv(); recv != nil {
		name = "(" + types.TypeString(recv.Type(), func(*types.Package) string { return "" }) + ")." + name
	}
	if fn.Pkg != nil {
		name = fn.Pkg.Pkg.Name() + "." + name
	}
	return name
}

func isInit(fn *ssa.Function) bool { return fn.Name() == "init" }

func less(a, b edge) int {
	if c := cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.pos, b.pos), cmp.Compare(a.to.Name(), b.to.Name())); c != 0 {
		return c
	}
	if a.to == b.to {
		return 0
	}
	return cmp.Compare(a.to.String(), b.to.String()) // last, because String builds the text each time
}
