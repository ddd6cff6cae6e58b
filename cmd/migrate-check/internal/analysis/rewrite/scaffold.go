package rewrite

import (
	"cmp"
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/symbolic"
)

const todo = `return cur, errors.New("TODO: return what is stored")`

// scaffold is the beginning of the new code for a Watch that is not rewritten.
func (w *watch) scaffold(call *rediscalls.Call, store, why string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Not rewritten: %s.\n", why)
	ctx := "ctx"
	store = cmp.Or(store, "store")
	if w.ctx != nil && call.Library.Major >= 8 {
		ctx = w.of(w.ctx)
	}
	switch {
	case len(w.keys) == 0 || w.call.Ellipsis.IsValid():
		fmt.Fprintf(&b, "// TODO: one Update is of one key. If several change together, put them under one key,\n"+
			"// or take %s.WithLocks and order the writes so that a crash between them does no harm.\n", store)
		b.WriteString(w.updateOf(nil, store, ctx))
	case len(w.keys) == 1:
		b.WriteString(w.updateOf(w.keys[0], store, ctx))
	default:
		names := make([]string, len(w.keys))
		for i, key := range w.keys {
			names[i] = w.of(key)
		}
		fmt.Fprintf(&b, "err := %s.WithLocks(%s, []string{%s}, func(ctx context.Context) error {\n", store, ctx, strings.Join(names, ", "))
		b.WriteString("\t// TODO: every other writer of these keys must take the same locks.\n" +
			"\t// TODO: a crash may come between two writes: put them into an order in which it does no harm.\n")
		for _, key := range w.keys {
			one := strings.TrimSuffix(w.updateOf(key, store, "ctx"), "\n")
			if update, ok := strings.CutPrefix(one, "_, err := "); ok {
				one = "if _, err := " + update + "; err != nil {\n\treturn err\n}"
			}
			b.WriteString("\t" + strings.ReplaceAll(one, "\n", "\n\t") + "\n")
		}
		b.WriteString("\treturn nil\n})\n")
	}
	if w.fn != nil {
		b.WriteString("// It was:\n")
		for line := range strings.Lines(w.of(w.fn.Body)) {
			b.WriteString("//\t" + strings.TrimRight(line, "\n") + "\n")
		}
	}
	return b.String()
}

// otherKind matches the commands of lists, sets, sorted sets, streams and the like.
var otherKind = regexp.MustCompile(`^(Z|X|L|RP|Geo|PF|S(Add|Card|Diff|Inter|Is|MIs|Members|Move|Pop|Rand|Rem|Scan|Union))`)

// updateOf is the Update of a key, which is nil if it is not known.
func (w *watch) updateOf(key ast.Expr, store, ctx string) string {
	name, kind, missing, stored := `"TODO: the key"`, "", "", todo
	if key != nil {
		name = w.of(key)
	}
	if key != nil && w.fn != nil {
		commands := w.commandsOf(key)
		for _, c := range commands {
			if strings.HasPrefix(c.name, "H") {
				kind = ", Kind: rmw.KindHash"
			} else if otherKind.MatchString(c.name) {
				const other = "// TODO: an Update is of a string or a hash, and %s of neither: send it under %s.WithLock.\n"
				return fmt.Sprintf(other, c.name, store)
			}
		}
		missing, stored = w.missing(commands), strings.ReplaceAll(w.storedBy(commands), "\n", "\n\t")
	}
	return fmt.Sprintf("_, err := %s.Update(%s, rmw.Key{Name: %s%s}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {\n"+
		"%s\t// TODO: move the checks of the function here. It may only compute, and may be called several times.\n\t%s\n})\n",
		store, ctx, name, kind, missing, stored)
}

// commandsOf lists the commands of the function on a key, by the transaction or a pipeline of it.
func (w *watch) commandsOf(key ast.Expr) (all []txUse) {
	for call := range rediscalls.Each[*ast.CallExpr](w.fn.Body) {
		if fn := symbolic.Callee(w.info, call); len(call.Args) >= 2 && w.same(key, call.Args[1]) && fn != nil && fn.Pkg() == w.redis {
			all = append(all, txUse{fn.Name(), call})
		}
	}
	return all
}

// missing returns the statements for a missing key or field, if the function returned its redis.Nil. So the scaffold
// creates nothing that the function did not.
func (w *watch) missing(commands []txUse) string {
	list := w.fn.Body.List
	for i, stmt := range list {
		first, bare := head(stmt)
		n, ok := first.(*ast.AssignStmt)
		if !ok {
			continue
		}
		at := slices.IndexFunc(commands, func(c txUse) bool {
			return within(n, c.call.Pos()) && (c.name == "Get" || c.name == "HGet" && len(c.call.Args) == 3 && w.outside(c.call.Args[2]))
		})
		rest := list[i+1:]
		if len(bare) > 0 {
			rest = bare
		}
		err := w.object(n.Lhs[len(n.Lhs)-1])
		if ret, _ := w.outcome(rest, err, absent, nil); at < 0 || !w.wraps(ret, err) {
			continue
		}
		head := "!cur.Exists()"
		if commands[at].name == "HGet" {
			head = fmt.Sprintf("_, ok := cur.Field(%s); !ok", w.of(commands[at].call.Args[2]))
		}
		return fmt.Sprintf("\tif %s {\n\t\treturn cur, %s.Nil\n\t}\n", head, w.redis.Name())
	}
	return ""
}

// storedBy returns the value of the only write, if it does not depend on the rest of the function.
func (w *watch) storedBy(commands []txUse) string {
	commands = slices.DeleteFunc(slices.Clone(commands), func(c txUse) bool { return reads[c.name] })
	if len(commands) != 1 || slices.ContainsFunc(commands[0].call.Args[1:], func(e ast.Expr) bool { return !w.outside(e) }) {
		return todo
	}
	one := commands[0]
	if text := w.counted(one); text != "" {
		return text
	}
	u := &update{watch: w, cur: "cur", rmw: "rmw", commit: commit{pipeline: &pipeline{one: one.call}}}
	if err := u.written(); err != nil {
		return todo
	}
	text, err := u.stored()
	if err != nil {
		return todo
	}
	return text
}

// counted returns the value that a counting command stores. A missing key or field counts from 0.
func (w *watch) counted(c txUse) string {
	by, op := "1", "+"
	args := c.call.Args[2:]
	switch {
	case c.name == "HIncrBy" && len(args) == 2:
		by = "(" + w.of(args[1]) + ")"
	case (c.name == "IncrBy" || c.name == "DecrBy") && len(args) == 1:
		by = "(" + w.of(args[0]) + ")"
	case c.name != "Incr" && c.name != "Decr":
		return ""
	}
	if strings.HasPrefix(c.name, "Decr") {
		op = "-"
	}
	const count = "n, err := strconv.ParseInt(%s, 10, 64)\nif err != nil && %s {\n\treturn cur, err\n}\nreturn %s, nil"
	next := fmt.Sprintf("strconv.FormatInt(n%s%s, 10)", op, by)
	if c.name[0] != 'H' {
		return fmt.Sprintf(count, "cur.Text()", "cur.Exists()", "rmw.String("+next+")")
	}
	name := w.of(args[0])
	return fmt.Sprintf("text, ok := cur.Field(%s)\n", name) + fmt.Sprintf(count, "text", "ok", fmt.Sprintf("cur.With(%s, %s)", name, next))
}

// outside reports whether an expression has the same value outside of the function.
func (w *watch) outside(e ast.Expr) bool {
	vars := w.vars(e)
	for v := range vars {
		if within(w.fn, v.Pos()) {
			return false
		}
	}
	return w.assigned(w.fn.Body, vars) == nil && w.plain(e)
}

// pipelineScaffold is the beginning of the new code for a transaction without WATCH.
func pipelineScaffold(s *source, call *rediscalls.Call) string {
	_, client, _ := method(s.call)
	if client == nil || isTx(s.info.TypeOf(client), call.Func.Pkg()) || call.Library.Major < 8 {
		return ""
	}
	const question = "// TODO: nothing makes these commands happen together: is that all right?\n" +
		"// If it is not, put what changes together under one key, and change it by an Update.\n"
	switch n, _ := s.parent().(*ast.AssignStmt); {
	case len(s.call.Args) == 2:
		return question + fmt.Sprintf("_, err := %s.Pipelined(%s, %s)\n", s.of(client), s.of(s.call.Args[0]), s.of(s.call.Args[1]))
	case n != nil && len(n.Lhs) == 1:
		return question + fmt.Sprintf("%s %s %s.Pipeline()\n", s.of(n.Lhs[0]), n.Tok, s.of(client))
	}
	return ""
}
