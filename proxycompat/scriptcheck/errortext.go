package scriptcheck

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/unwatch/unwatch/proxycompat"
)

// raises checks error(…). Up to 6.2 the wrapper around a script converts the error to a string and fails
// with a table: attempt to concatenate local 'err' (a table value), observed on 3.2.
func (w *walker) raises(e *ast.FuncCallExpr, first value, s *scope) {
	if len(e.Args) == 0 {
		return
	}
	if first.origin == tabular && w.before(proxycompat.Version{Major: 7}) {
		w.add(e.Line(), ErrorText, "error", "return a number or a table that describes the error",
			"%s cannot raise a table, and answers with an error about that", w.older(7))
		return
	}
	if t, ok := e.Args[0].(*ast.TableExpr); ok {
		w.errorTable(t, s)
	}
}

// errorTable checks {err = …}, returned or raised.
func (w *walker) errorTable(t *ast.TableExpr, s *scope) {
	for _, field := range t.Fields {
		if name, ok := field.Key.(*ast.StringExpr); ok && name.Value == "err" {
			w.errorText(t.Line(), "err", field.Value, s)
		}
	}
}

// errorText checks that an error starts with a code: clients recognize errors by their first word.
func (w *walker) errorText(line int, about string, e ast.Expr, s *scope) {
	text, whole := w.start(e, s)
	word, _, more := strings.Cut(strings.TrimPrefix(text, "-"), " ")
	if !whole && !more || isCode(word) {
		return
	}
	w.add(line, ErrorText, about, "an upper case word first, as in 'LOCKED by another owner'",
		"the error %s starts with no code, so no client can tell it from others", quoted(text))
}

// start returns the known prefix of a text, and whether that is the whole text.
func (w *walker) start(e ast.Expr, s *scope) (text string, whole bool) {
	switch e := e.(type) {
	case *ast.StringConcatOpExpr:
		text, _ = w.start(e.Lhs, s)
	case *ast.StringExpr:
		return e.Value, true
	case *ast.IdentExpr:
		if v := s.find(e.Value); v != nil {
			return v.value.text()
		}
	}
	return text, false
}

func isCode(word string) bool {
	for i, c := range word {
		if (c < 'A' || c > 'Z') && (i == 0 || c != '_' && c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return word != ""
}
