package rewrite

import (
	"fmt"
	"go/ast"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/rediscalls"
)

// watchScaffold is a beginning of what to write in place of a Watch that is not rewritten.
func watchScaffold(s *source, call *rediscalls.Call, w *watch, o Options, why string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Not rewritten: %s.\n", why)
	ctx, store := "ctx", "store"
	if o.Store != "" {
		store = o.Store
	}
	if w != nil && w.ctx != nil && call.Library.Major >= 8 {
		ctx = s.of(w.ctx)
	}
	if w == nil || len(w.keys) == 0 || s.call.Ellipsis.IsValid() {
		fmt.Fprintf(&b, "// TODO: one Update is of one key. If several change together, put them under one key,\n"+
			"// or take %s.WithLocks and order the writes so that a crash between them does no harm.\n", store)
		writeBody(&b, s, w, ctx, store, `"TODO: the key"`)
		return b.String()
	}
	if len(w.keys) == 1 {
		writeBody(&b, s, w, ctx, store, s.of(w.keys[0]))
		return b.String()
	}
	names := make([]string, len(w.keys))
	for i, key := range w.keys {
		names[i] = s.of(key)
	}
	fmt.Fprintf(&b, "err := %s.WithLocks(%s, []string{%s}, func(ctx context.Context) error {\n", store, ctx, strings.Join(names, ", "))
	b.WriteString("\t// TODO: who else writes these keys has to take the same locks.\n" +
		"\t// TODO: a crash may come between two writes: put them into an order in which it does no harm.\n")
	for _, name := range names {
		fmt.Fprintf(&b, "\tif _, err := %s.Update(ctx, rmw.Key{Name: %s}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {\n"+
			"\t\treturn cur, nil // TODO: what shall be stored\n\t}); err != nil {\n\t\treturn err\n\t}\n", store, name)
	}
	b.WriteString("\treturn nil\n})\n")
	writeOld(&b, s, w)
	return b.String()
}

func writeBody(b *strings.Builder, s *source, w *watch, ctx, store, key string) {
	kind, ttl := "", ""
	if w != nil && w.fn != nil {
		kind, ttl = kindOf(w), ttlOf(s, w)
	}
	fmt.Fprintf(b, "_, err := %s.Update(%s, rmw.Key{Name: %s%s%s}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {\n",
		store, ctx, key, kind, ttl)
	b.WriteString("\tif !cur.Exists() {\n\t\treturn cur, nil // TODO: what if there is no such key\n\t}\n" +
		"\t// TODO: compute, and nothing else: this may be called several times.\n")
	if kind == "" {
		b.WriteString("\tnext := cur.Text()\n\treturn rmw.String(next), nil\n})\n")
	} else {
		b.WriteString("\treturn cur.With(\"TODO: a field\", \"its value\"), nil\n})\n")
	}
	writeOld(b, s, w)
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

// kindOf tells a hash by the commands that are used.
func kindOf(w *watch) string {
	for _, use := range w.uses {
		if strings.HasPrefix(use.name, "H") {
			return ", Kind: rmw.KindHash"
		}
	}
	return ""
}

// ttlOf is the expiry that a Set in the function gives the key, as far as it can be said.
func ttlOf(s *source, w *watch) (ttl string) {
	ast.Inspect(w.fn.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 4 {
			return true
		}
		fn := s.callee(call)
		if fn == nil || fn.Name() != "Set" || fn.Pkg() != w.redis {
			return true
		}
		v := s.info.Types[call.Args[3]].Value
		switch {
		case v != nil && v.ExactString() == "0":
			ttl = ", TTL: rmw.NoTTL"
		case v != nil && v.ExactString() == "-1":
			ttl = ""
		default:
			ttl = ", TTL: " + s.of(call.Args[3])
		}
		return true
	})
	return ttl
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
