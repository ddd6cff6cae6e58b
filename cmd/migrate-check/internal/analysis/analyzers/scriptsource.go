package analyzers

import (
	"errors"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/symbolic"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/scriptcheck"
)

// sourceOf returns the index of the argument with the text of a script; -1 if there is none.
func sourceOf(lib rediscalls.Library, name string) int {
	switch {
	case lib.Name == rediscalls.GoRedis && (name == "NewScript" || name == "NewScriptServerSHA"):
		return 0
	case lib.Name == rediscalls.Redigo && name == "NewScript":
		return 1
	case lib.Name == rediscalls.Rueidis && strings.HasPrefix(name, "NewLuaScript"):
		return 0
	case lib.Name == rediscalls.Radix && name == "NewEvalScript" && lib.Major >= 4:
		return 0
	case lib.Name == rediscalls.Radix && name == "NewEvalScript":
		return 1
	}
	return -1
}

// source reads the text of a script.
func (r *reader) source(x ast.Expr) {
	if text, ok := r.embedded(x); ok {
		r.check(x, text, true)
		return
	}
	value := r.eval.Eval(x)
	text, known := value.Known()
	if known {
		r.check(x, text, true)
		return
	}
	r.report(x, commandRule+"/note", "the text of the script, %s, is not known before it runs; it could not be read", value.Brief(40))
	r.check(x, filled(value), false)
}

// unknown reports whether no part of the text of a script is known.
func (r *reader) unknown(x ast.Expr) bool {
	_, embedded := r.embedded(x)
	return !embedded && !slices.ContainsFunc(r.eval.Eval(x), func(part symbolic.Part) bool { return !part.Symbol() })
}

// filled is a script with a placeholder for each unknown part. It may be no valid script.
func filled(v symbolic.Value) string {
	var b strings.Builder
	for _, part := range v {
		if part.Symbol() {
			b.WriteString("1")
		} else {
			b.WriteString(part.Text)
		}
	}
	return b.String()
}

// check checks a script. If parts of it are unknown, only its certain calls count.
func (r *reader) check(x ast.Expr, text string, whole bool) {
	if r.checked[text] {
		return
	}
	r.checked[text] = true
	found, err := scriptcheck.CheckScript(r.profile, text)
	var bad *scriptcheck.SyntaxError
	if errors.As(err, &bad) && whole {
		r.report(x, commandRule+"/note", "line %d of the script: it is no Lua: %s", bad.Line, bad.Reason)
	}
	var undeclared []located
	for _, f := range found {
		rule := r.scriptRule(f)
		if rule == "" || !whole && !strings.HasPrefix(rule, commandRule) || !whole && strings.HasSuffix(rule, "/note") {
			continue
		}
		text := f.Command + ": " + f.Why
		if f.Instead != "" {
			text += "; instead: " + f.Instead
		}
		if strings.HasPrefix(rule, undeclaredRule) {
			undeclared = append(undeclared, located{f.Line, rule, text})
			continue
		}
		r.report(x, rule, "line %d of the script: %s", f.Line, text)
	}
	r.undeclared(x, undeclared)
}

// located is a finding in a script.
type located struct {
	line int
	rule string
	text string
}

// undeclared reports the uses of keys that are not in KEYS: once for a script, with all lines
// and the text of the gravest use.
func (r *reader) undeclared(x ast.Expr, all []located) {
	if len(all) == 0 {
		return
	}
	grave := func(f located) int {
		return slices.Index([]string{undeclaredRule + "/error", undeclaredRule, undeclaredRule + "/note"}, f.rule)
	}
	first := slices.MinFunc(all, func(a, b located) int { return grave(a) - grave(b) })
	var lines []string
	for _, f := range all {
		if line := strconv.Itoa(f.line); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 1 {
		r.report(x, first.rule, "line %d of the script: %s", first.line, first.text)
		return
	}
	r.report(x, first.rule, "lines %s of the script use keys that may not be in KEYS; line %d: %s",
		strings.Join(lines, ", "), first.line, first.text)
}

// scriptRule is the rule for a finding in a script; "" if it does not depend on the proxy, or belongs to the call of
// the script.
func (r *reader) scriptRule(f scriptcheck.Finding) string {
	switch f.Rule {
	case scriptcheck.UndeclaredKey:
		return undeclaredRule
	case scriptcheck.LiteralKeys:
		return undeclaredRule + "/error"
	case scriptcheck.NotInScripts, scriptcheck.Unheard, scriptcheck.OneServer, scriptcheck.TooNew:
		return commandRule
	case scriptcheck.RandomThenWrite:
		if r.profile.Backend() == (proxycompat.Version{}) {
			return commandRule + "/warning" // only servers before 5.0 refuse it
		}
		return commandRule
	case scriptcheck.CannotTell:
		if f.Command == "redis.call" {
			return commandRule + "/note"
		}
		return undeclaredRule + "/note"
	}
	return ""
}

// embedded is the text of the file that go:embed puts into a variable.
func (r *reader) embedded(x ast.Expr) (text string, ok bool) {
	x = ast.Unparen(x)
	if call, ok := x.(*ast.CallExpr); ok && len(call.Args) == 1 && r.pass.TypesInfo.Types[call.Fun].IsType() {
		x = ast.Unparen(call.Args[0]) // string(bytes)
	}
	id, ok := x.(*ast.Ident)
	if !ok {
		return "", false
	}
	v, ok := r.pass.TypesInfo.Uses[id].(*types.Var)
	if !ok || v.Pkg() == nil || v.Parent() != r.pass.Pkg.Scope() {
		return "", false
	}
	name := r.embeddedIn(v)
	if name == "" {
		return "", false
	}
	file := filepath.Join(filepath.Dir(r.pass.Fset.Position(v.Pos()).Filename), filepath.FromSlash(name))
	data, err := r.pass.ReadFile(file)
	if err != nil {
		// Most drivers list only Go files, and let an analyzer read no other file. An embedded file is part
		// of the package nevertheless.
		data, err = os.ReadFile(file)
	}
	return string(data), err == nil
}

// embeddedIn is the name of the file embedded into a variable; "" if there is none.
func (r *reader) embeddedIn(v *types.Var) string {
	gen, ok := r.around(v.Pos()).(*ast.GenDecl)
	if !ok {
		return ""
	}
	for _, spec := range gen.Specs {
		value, ok := spec.(*ast.ValueSpec)
		if !ok || v.Pos() < value.Pos() || value.End() <= v.Pos() {
			continue
		}
		for _, doc := range []*ast.CommentGroup{value.Doc, gen.Doc} {
			if name := directive(doc); name != "" {
				return name
			}
		}
	}
	return ""
}

func directive(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	for _, comment := range doc.List {
		if name, ok := strings.CutPrefix(comment.Text, "//go:embed "); ok {
			return strings.Trim(strings.TrimSpace(name), "\"`")
		}
	}
	return ""
}
