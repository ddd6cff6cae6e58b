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
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"

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
	profile := proxycompat.Codis32()
	f.Fuzz(func(t *testing.T, file uint, seed uint64, changes uint8) {
		src, err := os.ReadFile(names[file%uint(len(names))])
		require.NoError(t, err)
		text := mutate(string(src), rand.New(rand.NewPCG(seed, 0)), int(changes%32))
		name := filepath.Join(t.TempDir(), "a.go") // the analyzers read it, too
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		lexical.Scan(profile, name, []byte(text))
		parsed, _ := parser.ParseFile(imports.fset, name, text, parser.ParseComments|parser.AllErrors)
		if parsed == nil {
			return
		}
		p := &packages.Package{
			ID: "p", Name: "p", PkgPath: "p", Fset: imports.fset, Syntax: []*ast.File{parsed}, IllTyped: true,
			TypesInfo: newInfo(), TypesSizes: types.SizesFor("gc", "amd64"), Errors: []packages.Error{{Msg: "broken by the fuzzer"}},
		}
		config := types.Config{Importer: &imports, Error: func(error) {}}
		p.Types, _ = config.Check("p", imports.fset, p.Syntax, p.TypesInfo)
		graph, err := analyze(all.Analyzers(), []*packages.Package{p})
		require.NoError(t, err)
		for act := range graph.All() {
			require.Empty(t, why(act), text)
			for _, d := range act.Diagnostics {
				require.True(t, d.Pos.IsValid(), d.Message)
				require.LessOrEqual(t, d.Pos, max(d.Pos, d.End), d.Message)
			}
		}
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
