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

// severalKeys is the advice for keys that change together.
const severalKeys = "// Put what changes together under one key, or choose an order of the writes: see docs/several-keys.md.\n"

// scaffold is the beginning of the new code for a Watch that is not rewritten. It has every write of the function, or no code.
func (w *watch) scaffold(call *rediscalls.Call, store, why string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Not rewritten: %s.\n", why)
	ctx := "ctx"
	store = cmp.Or(store, "store")
	if w.ctx != nil && call.Library.Major >= 8 {
		ctx = w.of(w.ctx)
	}
	writes, err := w.allWrites()
	switch {
	case len(w.keys) == 0 || w.call.Ellipsis.IsValid():
		b.WriteString("// No scaffold: the keys are not seen here, and an Update is of one.\n" + severalKeys)
	case err != nil:
		fmt.Fprintf(&b, "// No scaffold: %s.\n%s", err, severalKeys)
	case len(w.keys) == 1:
		b.WriteString(w.updateOf(w.keys[0], writes, store, ctx))
	default:
		names := make([]string, len(w.keys))
		for i, key := range w.keys {
			names[i] = w.of(key)
		}
		fmt.Fprintf(&b, "err := %s.WithLocks(%s, []string{%s}, func(ctx context.Context) error {\n", store, ctx, strings.Join(names, ", "))
		b.WriteString("\t// WithLocks is a method of *lockupdate.Store. A Read, and a WATCH of old code, may see the one write without the other.\n" +
			"\t// TODO: every other writer of these keys must take the same locks.\n" +
			"\t// TODO: a crash may come between two writes, and nothing takes back the first: put them into an order in which\n" +
			"\t// it does no harm. See docs/several-keys.md.\n")
		for _, key := range w.keys {
			one := strings.TrimSuffix(w.updateOf(key, writes, store, "ctx"), "\n")
			if comment, update, ok := strings.Cut(one, "_, err := "); ok {
				one = comment + "if _, err := " + update + "; err != nil {\n\treturn err\n}"
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

// updateOf is the Update of a key, with the writes that are of it.
func (w *watch) updateOf(key ast.Expr, writes []written, store, ctx string) string {
	writes = slices.DeleteFunc(slices.Clone(writes), func(c written) bool { return !w.same(key, c.call.Args[1]) })
	commands, kind, warning := w.commandsOf(key), "", ""
	for _, c := range commands {
		switch {
		case strings.HasPrefix(c.name, "H"):
			kind = ", Kind: rmw.KindHash"
			warning = "// The Update reads all fields of the hash, and fields of one hash have one lock: see rmw.KindHash.\n"
		case otherKind.MatchString(c.name):
			const other = "// TODO: an Update is of a string or a hash, and %s of neither: send it under %s.WithLock.\n"
			return fmt.Sprintf(other, c.name, store) + w.listed(writes)
		}
	}
	stored := strings.ReplaceAll(w.storedBy(writes), "\n", "\n\t")
	return fmt.Sprintf(warning+"_, err := %s.Update(%s, rmw.Key{Name: %s%s}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {\n"+
		"%s\t// TODO: move the checks of the function here. It may only compute, and may be called several times.\n\t%s\n})\n",
		store, ctx, w.of(key), kind, w.missing(commands), stored)
}

// listed is a comment with commands.
func (w *watch) listed(writes []written) string {
	var b strings.Builder
	for _, c := range writes {
		fmt.Fprintf(&b, "//\t%s\n", w.inLine(c.call))
	}
	return b.String()
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

// storedBy returns the value of the only write, if it does not depend on the rest of the function. Otherwise it returns an
// error, under a list of the writes.
func (w *watch) storedBy(writes []written) string {
	if len(writes) == 0 {
		return todo
	}
	todo := "// TODO: do what these did, each as often as it did:\n" + w.listed(writes) + todo
	one := writes[0].txUse
	if len(writes) > 1 || writes[0].repeated || slices.ContainsFunc(one.call.Args[1:], func(e ast.Expr) bool { return !w.outside(e) }) {
		return todo
	}
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
