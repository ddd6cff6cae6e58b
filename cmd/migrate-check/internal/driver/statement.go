package driver

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

// statement is the code of a finding without comments, blanks and function bodies, so that changes of those keep
// the fingerprint. For a finding that is only a name, it is the statement around it.
func statement(pkg *packages.Package, path []ast.Node, pos, end token.Pos) string {
	if !end.IsValid() || end-pos < 12 {
		for _, n := range path {
			_, isStatement := n.(ast.Stmt)
			_, isSpec := n.(ast.Spec)
			if isStatement || isSpec {
				pos, end = n.Pos(), n.End()
				break
			}
		}
	}
	file := pkg.Fset.File(pos)
	text, err := os.ReadFile(file.Name())
	if err != nil || !end.IsValid() || file.Offset(end) > len(text) {
		return ""
	}
	return words(text[file.Offset(pos):file.Offset(end)])
}

// words are the tokens of a piece of code, except those in braces.
func words(code []byte) string {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", -1, len(code)), code, func(token.Position, string) {}, 0)
	var b strings.Builder
	depth := 0
	for {
		_, tok, literal := s.Scan()
		switch tok {
		case token.EOF:
			return b.String()
		case token.RBRACE:
			depth--
		case token.SEMICOLON:
			if literal == "\n" {
				continue
			}
		}
		if depth <= 0 {
			if literal == "" {
				literal = tok.String()
			}
			b.WriteString(literal + " ")
		}
		if tok == token.LBRACE {
			depth++
		}
	}
}
