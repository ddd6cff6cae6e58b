// Package reach tells from where code is reached: from a main, from what the module exports,
// or from nowhere, and by which way.
//
// # What is followed
//
// Calls, those through interfaces and function values included: the call graph is made by
// variable type analysis (VTA) over class hierarchy analysis, of the packages that are
// loaded with their syntax. The rest of the program, such as a web framework, has no bodies
// here. So a function that is passed on counts as called where it is passed, and the methods
// of a value that is made an interface where that happens; such a step is taken only if
// there is no way of calls.
//
// What reflection calls is not seen, nor what a linker directive or assembly does: "not
// reached" is a hint, never a reason to leave a finding out.
package reach

import (
	"container/heap"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/callgraph"
	"golang.org/x/tools/go/callgraph/cha"
	"golang.org/x/tools/go/callgraph/vta"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

// From is where code is reached from.
type From string

// The places, the weightiest first.
const (
	Main     From = "main"     // a main or an init of a program
	Exported From = "exported" // what others can import
	None     From = "none"
)

// Frame is a function on the way, and where in it the next one is called.
type Frame struct {
	Func string // "server.(*Server).handle"
	Pos  token.Pos
}

// Graph knows the ways.
type Graph struct {
	bySyntax map[ast.Node][]*ssa.Function
	inits    map[string]*ssa.Function // of packages, by their paths
	ways     []way                    // one for each From but None
}

type way struct {
	from From
	to   map[*ssa.Function]step
}

// step is the last one of the shortest way to a function.
type step struct {
	cost int
	by   *ssa.Function // nil: it is where the way begins
	pos  token.Pos
}

// The costs of a step. A way of calls is shorter than any that has another step in it.
const (
	call   = 1
	passed = 1 << 10 // a function is passed on
	boxed  = 1 << 20 // a value is made an interface
)

// New makes the graph of packages, which have to be loaded with their types and syntax, and
// without those of tests, which no main reaches. It takes their TypesInfo from them.
// Own tells which of them are the module's own: others are passed through, and begin nothing.
func New(pkgs []*packages.Package, own func(path string) bool) *Graph {
	prog, made := ssautil.Packages(pkgs, ssa.InstantiateGenerics)
	for _, pkg := range pkgs { // what is known of a package's expressions goes as soon as its functions are built
		pkg.TypesInfo = nil
	}
	prog.Build()
	all := ssautil.AllFunctions(prog)
	g := &Graph{bySyntax: map[ast.Node][]*ssa.Function{}, inits: map[string]*ssa.Function{}}
	for fn := range all {
		if syntax := fn.Syntax(); syntax != nil {
			g.bySyntax[syntax] = append(g.bySyntax[syntax], fn)
		}
	}
	edges := edgesOf(prog, all)
	roots := map[From][]*ssa.Function{}
	for _, pkg := range made {
		if pkg == nil {
			continue
		}
		g.inits[pkg.Pkg.Path()] = pkg.Func("init")
		if own(pkg.Pkg.Path()) {
			from, fns := rootsOf(prog, pkg)
			roots[from] = append(roots[from], fns...)
		}
	}
	for _, from := range []From{Main, Exported} {
		g.ways = append(g.ways, way{from, shortest(roots[from], edges)})
	}
	return g
}

// rootsOf are the functions of a package that others begin with.
func rootsOf(prog *ssa.Program, pkg *ssa.Package) (From, []*ssa.Function) {
	fns := []*ssa.Function{pkg.Func("init")}
	if pkg.Pkg.Name() == "main" {
		return Main, append(fns, pkg.Func("main"))
	}
	if strings.Contains("/"+pkg.Pkg.Path()+"/", "/internal/") {
		return Exported, nil
	}
	for _, name := range slices.Sorted(maps.Keys(pkg.Members)) {
		switch member := pkg.Members[name].(type) {
		case *ssa.Function:
			if ast.IsExported(name) {
				fns = append(fns, member)
			}
		case *ssa.Type:
			if ast.IsExported(name) {
				fns = append(fns, exportedMethods(prog, member)...)
			}
		}
	}
	return Exported, fns
}

// edge is a step to a function.
type edge struct {
	to   *ssa.Function
	pos  token.Pos
	cost int
}

func edgesOf(prog *ssa.Program, all map[*ssa.Function]bool) map[*ssa.Function][]edge {
	edges := map[*ssa.Function][]edge{}
	graph := vta.CallGraph(all, cha.CallGraph(prog))
	_ = callgraph.GraphVisitEdges(graph, func(e *callgraph.Edge) error {
		if e.Caller.Func != nil && e.Callee.Func != nil {
			edges[e.Caller.Func] = append(edges[e.Caller.Func], edge{e.Callee.Func, e.Pos(), call})
		}
		return nil
	})
	methods := methodSets{prog, invoked(all)}
	for fn := range all {
		edges[fn] = append(edges[fn], mentioned(fn, methods)...)
	}
	for _, out := range edges { // the order of maps is not to decide between ways that are as short
		slices.SortFunc(out, less)
	}
	return edges
}

// mentioned are the functions that one speaks of without calling them.
func mentioned(fn *ssa.Function, methods methodSets) (out []edge) {
	for _, block := range fn.Blocks {
		for _, instruction := range block.Instrs {
			pos := instruction.Pos()
			if box, ok := instruction.(*ssa.MakeInterface); ok {
				for _, method := range methods.of(box.X.Type()) {
					out = append(out, edge{method, pos, boxed})
				}
			}
			var callee ssa.Value
			if c, ok := instruction.(ssa.CallInstruction); ok {
				callee = c.Common().Value
			}
			for _, operand := range instruction.Operands(nil) {
				if named, ok := (*operand).(*ssa.Function); ok && *operand != callee {
					out = append(out, edge{named, pos, passed})
				}
			}
		}
	}
	return out
}

// shortest are the shortest ways from some functions to all others: Dijkstra's algorithm.
func shortest(roots []*ssa.Function, edges map[*ssa.Function][]edge) map[*ssa.Function]step {
	to := map[*ssa.Function]step{}
	queue := &queue{}
	for _, root := range roots {
		if root != nil {
			to[root] = step{}
			heap.Push(queue, item{fn: root, order: queue.Len()})
		}
	}
	done := map[*ssa.Function]bool{}
	for order := queue.Len(); queue.Len() > 0; {
		next := heap.Pop(queue).(item)
		if done[next.fn] {
			continue
		}
		done[next.fn] = true
		for _, e := range edges[next.fn] {
			cost := next.cost + e.cost
			if known, ok := to[e.to]; ok && known.cost <= cost {
				continue
			}
			to[e.to] = step{cost, next.fn, e.pos}
			heap.Push(queue, item{e.to, cost, order})
			order++
		}
	}
	return to
}

// Of tells from where a place in the code is reached, and by which way. The path is that of
// the syntax around it, from the inside to the outside.
func (g *Graph) Of(pkgPath string, path []ast.Node) (From, []Frame) {
	fns := g.around(pkgPath, path)
	for _, way := range g.ways {
		best, cost := (*ssa.Function)(nil), 0
		for _, fn := range fns {
			if step, ok := way.to[fn]; ok && (best == nil || step.cost < cost) {
				best, cost = fn, step.cost
			}
		}
		if best != nil {
			return way.from, way.frames(best)
		}
	}
	return None, nil
}

// around are the functions that a place is in: several if it is in a generic one.
func (g *Graph) around(pkgPath string, path []ast.Node) []*ssa.Function {
	for _, n := range path {
		if fns := g.bySyntax[n]; len(fns) > 0 {
			return fns
		}
		if _, declared := n.(*ast.FuncDecl); declared {
			return nil // nothing at all speaks of it
		}
	}
	if fn := g.inits[pkgPath]; fn != nil {
		return []*ssa.Function{fn}
	}
	return nil
}

// frames are the functions on the way, without those that were made for the compiler, and
// with function literals as what they are in.
func (w way) frames(fn *ssa.Function) (frames []Frame) {
	pos := token.NoPos
	for ; fn != nil; fn = w.to[fn].by {
		top := fn
		for top.Parent() != nil {
			top = top.Parent()
		}
		name := nameOf(top)
		switch {
		case fn.Synthetic != "" && fn.Origin() == nil && !isInit(fn):
		case len(frames) > 0 && frames[len(frames)-1].Func == name:
			frames[len(frames)-1].Pos = pos
		default:
			frames = append(frames, Frame{name, pos})
		}
		if w.to[fn].pos.IsValid() {
			pos = w.to[fn].pos
		}
	}
	slices.Reverse(frames)
	return frames
}
