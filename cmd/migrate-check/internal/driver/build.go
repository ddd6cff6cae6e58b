package driver

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/analyzers"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/directive"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/load"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/reach"
	"github.com/unwatch/unwatch/internal/rules"
)

// build is one build of the program.
type build struct {
	*merger
	program *load.Program
	tests   bool                       // report only findings in tests
	reach   *reach.Graph               // nil without call paths
	calls   map[string][]finding.Place // of functions with a function parameter; built on first use
}

// files records the built files and their directives.
func (b *build) files() {
	for _, pkg := range b.program.Packages {
		for _, file := range pkg.Syntax {
			name := pkg.Fset.File(file.FileStart).Name()
			if ofCgo(name) {
				name = pkg.Fset.Position(file.Package).Filename
			}
			b.built[name] = true
			if b.tests && !ofTests(name) {
				continue
			}
			path, own := b.program.Relative(name)
			if !own {
				continue
			}
			for _, d := range directive.InFile(pkg.Fset, file, path) {
				b.keepDirective(d)
			}
		}
	}
}

func ofTests(file string) bool { return strings.HasSuffix(file, "_test.go") }

// located is a finding before its call path is known.
type located struct {
	finding.Finding
	pkg  *packages.Package
	path []ast.Node // the syntax around it, innermost first
}

// diagnostic makes a finding of a diagnostic, unless the configuration excludes it.
func (b *build) diagnostic(act *checker.Action, d analysis.Diagnostic) (l located, ok bool) {
	pkg := act.Package
	rule, severity, ok := strings.Cut(d.Category, "/") // "MC402/error" has another severity than its rule
	if !ok {
		severity = string(rules.SeverityOf(rule))
	}
	if b.cfg.Rules != nil && !b.cfg.Rules(rule) {
		return l, false
	}
	file := fileAt(pkg, d.Pos)
	if file == nil {
		return l, false // in a file of cgo; its source counts as a file that is not built
	}
	if b.tests && !ofTests(pkg.Fset.File(file.FileStart).Name()) {
		return l, false // the check without tests has found it
	}
	f := finding.Finding{
		Rule: rule, Severity: rules.Severity(severity), Confidence: finding.High,
		Place: b.place(pkg.Fset, d.Pos), Package: pkg.PkgPath,
	}
	f.Message = d.Message
	if d.End.IsValid() {
		end := pkg.Fset.Position(d.End)
		f.EndLine, f.EndColumn = end.Line, end.Column
	}
	f.Labels = b.labels(pkg, file, d.Pos)
	f.Uncounted = f.Has(finding.Test) && b.cfg.Tests == TestsWarn
	switch {
	case f.Has(finding.Test) && b.cfg.Tests == TestsOff:
		return l, false
	case f.Has(finding.Generated) && !b.cfg.Generated:
		if f.Counts() && !f.Has(finding.Dependent) {
			b.generated.add("generated files", "-generated skip leaves out %s; list them with -generated report", &f)
		}
		return l, false
	}
	if r, ok := rules.Of(rule); ok && (f.Severity != rules.Note || r.Severity == rules.Note) { // the text of a note has its own advice
		f.Advice = r.Advice()
	}
	path, _ := astutil.PathEnclosingInterval(file, d.Pos, max(d.Pos, d.End))
	if at := b.place(pkg.Fset, selected(path, d.Pos)); at.Line > f.Line {
		f.Began, f.Line, f.Column = f.Line, at.Line, at.Column
	}
	fn := enclosing(path)
	f.Func = nameOf(fn)
	for _, r := range d.Related {
		at := b.place(pkg.Fset, r.Pos)
		at.Message = r.Message
		f.Related = append(f.Related, at)
	}
	f.Related = append(f.Related, b.callers(pkg, fn, d)...)
	if changes, ok := act.Result.(analyzers.Changes); ok && rule != "MC104" {
		f.Change = changes[d.Pos]
	}
	f.Statement = statement(pkg, path, d.Pos, d.End)
	return located{f, pkg, path}, true
}

// selected is the position of the method's name, where readers look for a call over
// several lines; pos if there is none.
func selected(path []ast.Node, pos token.Pos) token.Pos {
	if len(path) == 0 {
		return pos
	}
	n := path[0]
	if call, ok := n.(*ast.CallExpr); ok {
		n = ast.Unparen(call.Fun)
	}
	if sel, ok := n.(*ast.SelectorExpr); ok {
		return sel.Sel.Pos()
	}
	return pos
}

// reached adds the call path of a finding, and keeps the finding.
func (b *build) reached(l located) {
	switch {
	case b.cfg.Reach && l.Has(finding.Test):
		l.Reach = "test"
	case b.reach == nil || l.pkg.IllTyped: // unknown
	default:
		b.way(&l)
	}
	if l.Has(finding.Dependent) && b.cfg.Scope != All && l.Reach == string(reach.None) {
		return
	}
	if l.Has(finding.Dependent) && b.cfg.Scope == Module {
		b.dependent(&l)
		return
	}
	b.keep(l.Finding)
}

func (b *build) way(l *located) {
	from, frames := b.reach.Of(l.pkg.PkgPath, l.path)
	l.Reach = string(from)
	for _, frame := range frames {
		at := l.Place // of the last frame
		if frame.Pos.IsValid() {
			at = b.place(l.pkg.Fset, frame.Pos)
		}
		at.Message = frame.Func
		l.Stack = append(l.Stack, at)
	}
}

func (b *build) place(fset *token.FileSet, pos token.Pos) finding.Place {
	at := fset.Position(pos)
	path, _ := b.program.Relative(at.Filename)
	return finding.Place{Path: path, Line: at.Line, Column: at.Column}
}

// labels are the kinds of a file.
func (b *build) labels(pkg *packages.Package, file *ast.File, pos token.Pos) (labels []finding.Label) {
	name := pkg.Fset.File(pos).Name()
	if ofTests(name) {
		labels = append(labels, finding.Test)
	}
	if ast.IsGenerated(file) && !ofCgo(name) {
		labels = append(labels, finding.Generated)
	}
	switch slashed := filepath.ToSlash(name); {
	case strings.Contains(slashed, "/vendor/") || strings.Contains(slashed, "/third_party/"):
		labels = append(labels, finding.Vendored)
	case !b.program.Asked[pkg.PkgPath]:
		labels = append(labels, finding.Dependent)
	}
	return labels
}

// ofCgo reports whether a file is the output of cgo, which is in the build cache.
func ofCgo(file string) bool { return !strings.HasSuffix(file, ".go") }

func fileAt(pkg *packages.Package, pos token.Pos) *ast.File {
	for _, file := range pkg.Syntax {
		if file.FileStart <= pos && pos < file.FileEnd {
			return file
		}
	}
	return nil
}

// enclosing is the declared function around a place; nil if there is none.
func enclosing(path []ast.Node) *ast.FuncDecl {
	for _, n := range path {
		if fn, ok := n.(*ast.FuncDecl); ok {
			return fn
		}
	}
	return nil
}

// nameOf is the name of a function, as in a stack: "(*Store).Take".
func nameOf(fn *ast.FuncDecl) string {
	if fn == nil {
		return ""
	}
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	return "(" + types.ExprString(fn.Recv.List[0].Type) + ")." + fn.Name.Name
}
