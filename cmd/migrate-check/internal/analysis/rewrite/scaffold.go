package rewrite

import (
	"cmp"
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
)

// watchScaffold is a beginning of what to write in place of a Watch that is not rewritten.
func watchScaffold(s *source, call *rediscalls.Call, w *watch, o Options, why string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Not rewritten: %s.\n", why)
	ctx, store := "ctx", cmp.Or(o.Store, "store")
	if w != nil && w.ctx != nil && call.Library.Major >= 8 {
		ctx = s.of(w.ctx)
	}
	switch {
	case w == nil || len(w.keys) == 0 || s.call.Ellipsis.IsValid():
		fmt.Fprintf(&b, "// TODO: one Update is of one key. If several change together, put them under one key,\n"+
			"// or take %s.WithLocks and order the writes so that a crash between them does no harm.\n", store)
		b.WriteString(w.updateOf(nil, store, ctx))
	case len(w.keys) == 1:
		b.WriteString(w.updateOf(w.keys[0], store, ctx))
	default:
		names := make([]string, len(w.keys))
		for i, key := range w.keys {
			names[i] = s.of(key)
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
	writeOld(&b, s, w)
	return b.String()
}

// updateOf is the Update of a key, which is nil if it is not known.
func (w *watch) updateOf(key ast.Expr, store, ctx string) string {
	const todo = "\t// TODO: move the checks of the function here. It may only compute, and may be called several times.\n"
	if key == nil || w.fn == nil {
		name := `"TODO: the key"`
		if key != nil {
			name = w.of(key)
		}
		return fmt.Sprintf("_, err := %s.Update(%s, rmw.Key{Name: %s}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {\n"+
			"%s\treturn cur, errors.New(\"TODO: return what is stored\")\n})\n", store, ctx, name, todo)
	}
	commands := w.commandsOf(key)
	kind := ""
	for _, c := range commands {
		switch {
		case strings.HasPrefix(c.name, "H"):
			kind = ", Kind: rmw.KindHash"
		case otherKind.MatchString(c.name):
			return fmt.Sprintf("// TODO: an Update is of a string or a hash, and %s of neither: send it under %s.WithLock.\n", c.name, store)
		}
	}
	stored := strings.ReplaceAll(w.storedBy(commands), "\n", "\n\t")
	return fmt.Sprintf("_, err := %s.Update(%s, rmw.Key{Name: %s%s}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {\n"+
		"%s%s\t%s\n})\n", store, ctx, w.of(key), kind, w.absent(commands), todo, stored)
}

// otherKind matches the commands of lists, sets, sorted sets, streams and the like.
var otherKind = regexp.MustCompile(`^(Z|X|L|RP|Geo|PF|S(Add|Card|Diff|Inter|Is|MIs|Members|Move|Pop|Rand|Rem|Scan|Union))`)

// commandsOf are the commands in the function on a key, by the transaction or a pipeline of it.
func (w *watch) commandsOf(key ast.Expr) (all []txUse) {
	ast.Inspect(w.fn.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && len(call.Args) >= 2 && w.same(key, call.Args[1]) {
			if fn := w.callee(call); fn != nil && fn.Pkg() == w.redis {
				all = append(all, txUse{fn.Name(), call})
			}
		}
		return true
	})
	return all
}

// absent returns the statements for an absent key or field, if the function returned its redis.Nil.
func (w *watch) absent(commands []txUse) string {
	list := w.fn.Body.List
	for i, stmt := range list {
		n, ok := simple(stmt).(*ast.AssignStmt)
		if !ok {
			continue
		}
		at := slices.IndexFunc(commands, func(c txUse) bool {
			return within(n, c.call.Pos()) && (c.name == "Get" || c.name == "HGet" && len(c.call.Args) == 3 && w.outside(c.call.Args[2]))
		})
		if at < 0 {
			continue
		}
		check := stmt
		if n == stmt && i+1 < len(list) {
			check = list[i+1]
		}
		test, ok := check.(*ast.IfStmt)
		if !ok {
			continue
		}
		bare := *test
		bare.Init = nil
		err := w.object(n.Lhs[len(n.Lhs)-1])
		if _, ok := w.failed(&bare, err); !ok || err == nil {
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
	const todo = "return cur, errors.New(\"TODO: return what is stored\")"
	commands = slices.DeleteFunc(slices.Clone(commands), func(c txUse) bool { return reads[c.name] })
	if len(commands) != 1 || slices.ContainsFunc(commands[0].call.Args[1:], func(e ast.Expr) bool { return !w.outside(e) }) {
		return todo
	}
	one := commands[0]
	if text := w.counted(one); text != "" {
		return text
	}
	u := &update{watch: w, cur: "cur", rmw: "rmw", exchanged: map[*ast.CallExpr]bool{}}
	u.commit.call = one.call
	if err := u.written(); err != nil {
		return todo
	}
	text, err := u.stored()
	if err != nil {
		return todo
	}
	return text
}

// counted returns the value that a counting command stores: an absent key or field counts from 0.
func (w *watch) counted(c txUse) string {
	by, field := "1", strings.HasPrefix(c.name, "H")
	if args := c.call.Args[2:]; c.name == "HIncrBy" && len(args) == 2 {
		by = "(" + w.of(args[1]) + ")"
	} else if (c.name == "IncrBy" || c.name == "DecrBy") && len(args) == 1 {
		by = "(" + w.of(args[0]) + ")"
	} else if c.name != "Incr" && c.name != "Decr" {
		return ""
	}
	op := "+"
	if strings.HasPrefix(c.name, "Decr") {
		op = "-"
	}
	const count = "n, err := strconv.ParseInt(%s, 10, 64)\nif err != nil && %s {\n\treturn cur, err\n}\nreturn %s, nil"
	next := fmt.Sprintf("strconv.FormatInt(n%s%s, 10)", op, by)
	if !field {
		return fmt.Sprintf(count, "cur.Text()", "cur.Exists()", "rmw.String("+next+")")
	}
	name := w.of(c.call.Args[2])
	return fmt.Sprintf("text, ok := cur.Field(%s)\n", name) + fmt.Sprintf(count, "text", "ok", fmt.Sprintf("cur.With(%s, %s)", name, next))
}

// outside reports whether an expression is the same outside of the function.
func (w *watch) outside(e ast.Expr) bool {
	for v := range w.vars(e) {
		if within(w.fn, v.Pos()) || w.assignedIn(v) {
			return false
		}
	}
	return w.plain(e)
}

// writeOld repeats what the function does, for whoever moves it.
func writeOld(b *strings.Builder, s *source, w *watch) {
	if w == nil || w.fn == nil {
		return
	}
	b.WriteString("// It was:\n")
	for line := range strings.Lines(s.of(w.fn.Body)) {
		b.WriteString("//\t" + strings.TrimRight(line, "\n") + "\n")
	}
}

// pipelineScaffold is a beginning of what to write in place of a transaction of its own.
func pipelineScaffold(s *source, call *rediscalls.Call) string {
	sel, ok := ast.Unparen(s.call.Fun).(*ast.SelectorExpr)
	if !ok || s.isTx(sel.X) || call.Library.Major < 8 {
		return ""
	}
	const todo = "// TODO: nothing makes these commands happen together: is that all right?\n" +
		"// If it is not, put what changes together under one key, and change it by an Update.\n"
	switch n, _ := s.parent().(*ast.AssignStmt); {
	case len(s.call.Args) == 2:
		return todo + fmt.Sprintf("_, err := %s.Pipelined(%s, %s)\n", s.of(sel.X), s.of(s.call.Args[0]), s.of(s.call.Args[1]))
	case n != nil && len(n.Lhs) == 1:
		return todo + fmt.Sprintf("%s %s %s.Pipeline()\n", s.of(n.Lhs[0]), n.Tok, s.of(sel.X))
	}
	return ""
}
