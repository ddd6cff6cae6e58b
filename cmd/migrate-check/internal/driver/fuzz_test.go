package driver

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/all"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/lexical"
	"github.com/unwatch/unwatch/proxycompat"
)

const fixtures = "../analysis/testdata/src"

// FuzzGo analyzes files of the fixtures with some of their tokens removed, doubled and
// swapped. The errors of the result do not stop the analysis, as in the driver.
func FuzzGo(f *testing.F) {
	names, err := filepath.Glob(fixtures + "/*/*.go")
	require.NoError(f, err)
	for i := range names {
		f.Add(uint(i), uint64(i), uint8(0))
		f.Add(uint(i), uint64(i), uint8(i%7+1))
	}
	imports := stubs{token.NewFileSet(), map[string]*types.Package{}, nil}
	imports.std = importer.ForCompiler(imports.fset, "source", nil)
	f.Fuzz(func(t *testing.T, file uint, seed uint64, changes uint8) {
		name := names[file%uint(len(names))]
		src, err := os.ReadFile(name)
		require.NoError(t, err)
		text := mutate(string(src), rand.New(rand.NewPCG(seed, 0)), int(changes%32))
		defer func() {
			if p := recover(); p != nil {
				t.Logf("%s:\n%s", name, text)
				panic(p)
			}
		}()
		lexical.Scan(proxycompat.Codis32(), name, []byte(text), lexical.Languages{lexical.Go})
		parsed, _ := parser.ParseFile(imports.fset, name, text, parser.ParseComments|parser.AllErrors)
		if parsed == nil {
			return
		}
		info := newInfo()
		config := types.Config{Importer: &imports, Error: func(error) {}}
		pkg, _ := config.Check("p", imports.fset, []*ast.File{parsed}, info)
		complete([]*ast.File{parsed}, info)
		runAll(t, &analysis.Pass{
			Fset: imports.fset, Files: []*ast.File{parsed}, Pkg: pkg, TypesInfo: info,
			TypesSizes: types.SizesFor("gc", "amd64"), ReadFile: func(string) ([]byte, error) { return []byte(text), nil },
		})
	})
}

// mutate removes, doubles, or swaps tokens.
func mutate(src string, r *rand.Rand, changes int) string {
	var words []string
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, []byte(src), nil, 0)
	last := 0
	for {
		pos, tok, _ := s.Scan()
		if at := file.Offset(pos); at > last {
			words = append(words, src[last:at])
			last = at
		}
		if tok == token.EOF {
			break
		}
	}
	for range changes {
		if len(words) < 2 {
			break
		}
		i, j := r.IntN(len(words)), r.IntN(len(words))
		switch r.IntN(4) {
		case 0:
			words = append(words[:i], words[i+1:]...)
		case 1:
			words = append(words[:i], append([]string{words[i]}, words[i:]...)...)
		case 2:
			words[i], words[j] = words[j], words[i]
		case 3:
			words[i] = words[j]
		}
	}
	return strings.Join(words, "")
}

func newInfo() *types.Info {
	return &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{},
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes: map[ast.Node]*types.Scope{}, FileVersions: map[*ast.File]string{},
	}
}

// stubs imports the clients of the fixtures, and the standard library.
type stubs struct {
	fset  *token.FileSet
	known map[string]*types.Package
	std   types.Importer
}

func (s *stubs) Import(path string) (*types.Package, error) {
	if pkg, ok := s.known[path]; ok {
		return pkg, nil
	}
	names, err := filepath.Glob(filepath.Join(fixtures, filepath.FromSlash(path), "*.go"))
	if err != nil || len(names) == 0 {
		return s.std.Import(path)
	}
	var files []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(s.fset, name, nil, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	config := types.Config{Importer: s, Error: func(error) {}}
	pkg, err := config.Check(path, s.fset, files, nil)
	if err == nil {
		s.known[path] = pkg
	}
	return pkg, err
}

// runAll runs all analyzers and their requirements over one package.
func runAll(t *testing.T, base *analysis.Pass) {
	t.Helper()
	type key struct {
		a    *analysis.Analyzer
		of   any
		kind reflect.Type
	}
	facts, results := map[key]analysis.Fact{}, map[*analysis.Analyzer]any{}
	var run func(a *analysis.Analyzer)
	run = func(a *analysis.Analyzer) {
		if _, done := results[a]; done {
			return
		}
		for _, required := range a.Requires {
			run(required)
		}
		pass := *base
		pass.Analyzer, pass.ResultOf = a, results
		pass.Report = func(d analysis.Diagnostic) {
			require.True(t, d.Pos.IsValid(), d.Message)
			require.LessOrEqual(t, d.Pos, max(d.Pos, d.End), d.Message)
		}
		get := func(of any, into analysis.Fact) bool {
			fact, ok := facts[key{a, of, reflect.TypeOf(into)}]
			if ok {
				reflect.ValueOf(into).Elem().Set(reflect.ValueOf(fact).Elem())
			}
			return ok
		}
		set := func(of any, fact analysis.Fact) { facts[key{a, of, reflect.TypeOf(fact)}] = fact }
		pass.ImportObjectFact = func(o types.Object, fact analysis.Fact) bool { return get(o, fact) }
		pass.ExportObjectFact = func(o types.Object, fact analysis.Fact) { set(o, fact) }
		pass.ImportPackageFact = func(p *types.Package, fact analysis.Fact) bool { return get(p, fact) }
		pass.ExportPackageFact = func(fact analysis.Fact) { set(base.Pkg, fact) }
		result, err := a.Run(&pass)
		require.NoError(t, err, a.Name)
		results[a] = result
	}
	for _, a := range all.Analyzers() {
		run(a)
	}
}
