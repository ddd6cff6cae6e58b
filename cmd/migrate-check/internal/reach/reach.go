// Package reach finds the shortest call path to a place in the code: from a main, or from an exported function of
// the module.
//
// # Call graph
//
// The call graph comes from variable type analysis (VTA) over class hierarchy analysis, and includes calls through
// interfaces and function values. It covers the packages that are
// loaded with their syntax. Other packages, such as a web framework, have no bodies
// here. So a function counts as called at the place that passes it on, and the methods
// of a value at its conversion to an interface. A path has such a step only if
// there is none of calls alone.
//
// The graph misses calls by reflection, linker directives and assembly: "not
// reached" is a hint, never a reason to drop a finding.
package reach

import (
	"cmp"
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

// From is the start of a call path.
type From string

// The starts, the most important first.
const (
	Main     From = "main"     // a main or an init of a program
	Exported From = "exported" // an exported function or method
	None     From = "none"
)

// Frame is a function on a call path, with the position of the next call.
type Frame struct {
	Func string // "server.(*Server).handle"
	Pos  token.Pos
}

// Graph has the call paths.
type Graph struct {
	bySyntax map[ast.Node][]*ssa.Function
	inits    map[string]*ssa.Function // of packages, by their paths
	ways     []way                    // for each From but None
}

type way struct {
	from From
	to   map[*ssa.Function]step
}

// step is the last step of the shortest path to a function.
type step struct {
	cost int
	by   *ssa.Function // nil at the start
	pos  token.Pos
}

// The costs of a step. A path of calls is shorter than any path with another step.
const (
	call   = 1
	passed = 1 << 10 // of a function that is passed on
	boxed  = 1 << 20 // of a value that becomes an interface
)

// New builds the graph of packages with types and syntax, without tests, which no main reaches. It removes their
// TypesInfo to save memory. own reports whether a package belongs to the module: no path starts in another one.
func New(pkgs []*packages.Package, own func(path string) bool) *Graph {
	prog, made := ssautil.Packages(pkgs, ssa.InstantiateGenerics)
	for _, pkg := range pkgs { // the TypesInfo is released as soon as the functions are built
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
	for _, instances := range g.bySyntax { // sorted, as edges are
		slices.SortFunc(instances, func(a, b *ssa.Function) int { return cmp.Compare(a.String(), b.String()) })
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

// rootsOf are the functions of a package at which a path may start.
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

// edge is a possible step to a function.
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
	for _, out := range edges { // sorted, so that equal paths do not depend on the order of maps
		slices.SortFunc(out, less)
	}
	return edges
}

// mentioned are the functions that a function names without calling them.
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

// shortest finds the shortest paths from some functions to all others by Dijkstra's algorithm.
func shortest(roots []*ssa.Function, edges map[*ssa.Function][]edge) map[*ssa.Function]step {
	to, queue := map[*ssa.Function]step{}, map[int][]*ssa.Function{} // queue has the functions of each cost, first in, first out
	for _, root := range roots {
		if root != nil {
			to[root] = step{}
			queue[0] = append(queue[0], root)
		}
	}
	done := map[*ssa.Function]bool{}
	for len(queue) > 0 {
		least := slices.Min(slices.Collect(maps.Keys(queue)))
		for _, fn := range queue[least] {
			if done[fn] {
				continue
			}
			done[fn] = true
			for _, e := range edges[fn] {
				cost := least + e.cost
				if known, ok := to[e.to]; ok && known.cost <= cost {
					continue
				}
				to[e.to] = step{cost, fn, e.pos}
				queue[cost] = append(queue[cost], e.to)
			}
		}
		delete(queue, least)
	}
	return to
}

// Of returns the start and the call path of a place in the code. path is the syntax around it, innermost first.
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

// around are the functions around a place: several for the instances of a generic one.
func (g *Graph) around(pkgPath string, path []ast.Node) []*ssa.Function {
	for _, n := range path {
		if fns := g.bySyntax[n]; len(fns) > 0 {
			return fns
		}
		if _, declared := n.(*ast.FuncDecl); declared {
			return nil // nothing names it
		}
	}
	if fn := g.inits[pkgPath]; fn != nil {
		return []*ssa.Function{fn}
	}
	return nil
}

// frames are the functions on a path. It skips synthetic ones, and shows a function literal as the function around it.
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
