package analyzers

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/proxycompat"
)

// access is one command of a transaction on one key.
type access struct {
	call     *rediscalls.Call
	command  string
	key      ast.Expr
	kind     string // the group of its command: "string", "hash", "zset", …
	writes   bool
	repeated bool // in a loop
}

// shape has the commands of a transaction, by key.
type shape struct {
	*region
	watched  []ast.Expr
	accesses []access
	open     bool // further keys are possible
}

// shapeOf reads the commands of a region.
func (r *reader) shapeOf(g *region, watched keys) *shape {
	s := &shape{region: g, watched: watched.all, open: watched.open || g.hidden}
	for _, c := range g.inside() {
		for _, command := range c.Commands {
			known, found := proxycompat.CommandOf(strings.Fields(command)...)
			if !found || !known.Writes() && !known.ReadOnly() {
				continue
			}
			k := r.of(c, command)
			s.open = s.open || k.open
			for _, key := range k.all {
				s.accesses = append(s.accesses, access{c, command, g.outer(key), known.Group, known.Writes(), g.inLoop(c.Node)})
			}
		}
	}
	return s
}

// outer is the argument behind a parameter of a followed function; any other expression itself.
func (g *region) outer(x ast.Expr) ast.Expr {
	if ident, ok := ast.Unparen(x).(*ast.Ident); ok {
		if arg := g.bound[g.pass.TypesInfo.Uses[ident]]; arg != nil {
			return arg
		}
	}
	return x
}

// args are the arguments of an access behind a ctx, as the caller of a followed function gives them.
func (s *shape) args(a access) (args []ast.Expr) {
	for _, x := range behindCtx(a.call) {
		args = append(args, s.outer(x))
	}
	return args
}

// inLoop reports whether a loop of the region is around a node.
func (g *region) inLoop(n ast.Node) bool {
	for _, body := range g.bodies {
		for loop := range ast.Preorder(body) {
			switch loop.(type) {
			case *ast.ForStmt, *ast.RangeStmt:
				if loop.Pos() <= n.Pos() && n.End() <= loop.End() {
					return true
				}
			}
		}
	}
	return false
}

// sameKey reports whether two expressions are surely the same key, or are written alike.
func (s *shape) sameKey(x, y ast.Expr) bool {
	return types.ExprString(x) == types.ExprString(y) || s.eval.Eval(x).Equal(s.eval.Eval(y))
}

// distinct are the keys of accesses, once each.
func (s *shape) distinct(all []access) (found []ast.Expr) {
	for _, a := range all {
		if !slices.ContainsFunc(found, func(x ast.Expr) bool { return s.sameKey(x, a.key) }) {
			found = append(found, a.key)
		}
	}
	return found
}

func (s *shape) only(writes bool) (some []access) {
	for _, a := range s.accesses {
		if a.writes == writes {
			some = append(some, a)
		}
	}
	return some
}

// on are the accesses of a key.
func (s *shape) on(key ast.Expr) (some []access) {
	for _, a := range s.accesses {
		if s.sameKey(key, a.key) {
			some = append(some, a)
		}
	}
	return some
}

// kindOf is the type of a key by its commands; "" if they do not tell.
func (s *shape) kindOf(key ast.Expr) string {
	for _, a := range s.on(key) {
		if a.kind != "generic" {
			return a.kind
		}
	}
	return ""
}

// names are the methods of accesses, once each.
func names(all []access) (found []string) {
	for _, a := range all {
		if name := a.call.Func.Name(); !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// only reports whether all methods of some accesses are among the given.
func onlyOf(all []access, methods ...string) bool {
	return !slices.ContainsFunc(names(all), func(name string) bool { return !slices.Contains(methods, name) })
}

// explain classifies a transaction. under says that it has a WATCH.
func (s *shape) explain(under bool) *finding.Change {
	writes, reads := s.only(true), s.only(false)
	written := s.distinct(writes)
	c := &finding.Change{Watched: texts(s.watched), Written: texts(written), Before: s.source()}
	records, entries := 0, 0
	for _, key := range written {
		switch s.kindOf(key) {
		case "string", "hash", "":
			records++
		default:
			entries++
		}
	}
	repeated := slices.ContainsFunc(writes, func(a access) bool { return a.repeated })
	checked := slices.ContainsFunc(s.watched, func(key ast.Expr) bool { return len(written) > 0 && !s.sameKey(key, written[0]) })
	switch {
	case len(writes) == 0 && s.open:
		c.Class, c.Advice = "commands that are not visible here", "classify the callers of this code, or name the keys in it"
	case len(writes) == 0:
		c.Class, c.Advice = "nothing is written", "send the reads without it"
	case len(s.accesses) == 1 && !under && !s.open && !repeated:
		s.oneCommand(c, writes[0])
	case len(written) == 1 && !checked && !s.open && under && onlyOf(reads, "Get") && onlyOf(writes, "Del", "Unlink", "Expire", "PExpire"):
		c.Class, c.Advice = "a lock by hand", "take the lock by WithLock of lockupdate, which renews and releases it"
		c.After = fmt.Sprintf("store.WithLock(ctx, %s, func(ctx context.Context) error { … })", c.Written[0])
	case len(written) == 1 && !checked && !s.open:
		s.oneKey(c, written[0], writes)
	case len(written) == 1 && checked && !s.open:
		s.together(c, "one key, and a check of another")
	case records > 0 && entries > 0:
		s.together(c, "a record and its index")
	case entries > 1 && len(written) > 1:
		s.together(c, "a move between collections")
	case under:
		s.together(c, "several keys changed together")
	default:
		s.together(c, "a batch of several keys")
		c.Advice = "if nothing depends on all or none, send it by Pipelined; else " + c.Advice
	}
	return c
}

// oneCommand explains a transaction of a single command, which is atomic by itself.
func (s *shape) oneCommand(c *finding.Change, a access) {
	c.Class, c.Advice = "one command", "send the command alone: it is atomic"
	if call, ok := a.call.Node.(*ast.CallExpr); ok {
		_, command, _ := strings.Cut(types.ExprString(call.Fun), ".")
		c.After = "rdb." + command + "(" + strings.Join(texts(call.Args), ", ") + ")"
	}
	if !onlyOf([]access{a}, "Set", "SetEx", "SetEX", "Del", "Unlink", "HSet", "HMSet", "HDel", "SAdd", "SRem", "ZAdd", "ZRem",
		"Expire", "PExpire", "Persist") {
		c.Advice += "; go-redis repeats a command after a lost reply, unlike a transaction: MaxRetries -1 prevents that"
	}
}

// oneKey explains a transaction that changes one key.
func (s *shape) oneKey(c *finding.Change, key ast.Expr, writes []access) {
	kind, name := s.kindOf(key), types.ExprString(key)
	switch kind {
	case "string", "":
		c.Class = "one string"
	case "hash":
		c.Class = "one hash"
	default:
		c.Class = "one key of type " + kind
		c.Advice = "store.Update changes strings and hashes only: send one script with KEYS[1] = " + name + ", or store the data as one document"
		return
	}
	ttl, policy := s.ttl(writes)
	c.TTL = policy
	fields := "Name: " + name
	if kind == "hash" {
		fields += ", Kind: rmw.KindHash"
	}
	if ttl != "" {
		fields += ", TTL: " + ttl
	}
	if onlyOf(writes, "Incr", "IncrBy", "Decr", "DecrBy", "Expire", "PExpire") && kind == "string" {
		c.Class, c.Advice = "one counter", "count by rmw.Add"
		c.After = fmt.Sprintf("rmw.Add(ctx, store, rmw.Key{%s}, …)", fields)
		return
	}
	c.Advice = "change the key by store.Update of lockupdate, or of cas until the proxy is there"
	if kind == "hash" {
		c.Advice += "; it reads all fields"
	}
	c.After = fmt.Sprintf("store.Update(ctx, rmw.Key{%s}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) { …; return %s, nil })",
		fields, s.stored(writes))
}

// stored is the value that an update returns.
func (s *shape) stored(writes []access) string {
	values := slices.DeleteFunc(slices.Clone(writes), func(a access) bool {
		return a.kind == "generic" && a.command != "DEL" && a.command != "UNLINK"
	})
	if len(values) != 1 || values[0].repeated {
		return "…"
	}
	args := s.args(values[0])
	switch name := values[0].call.Func.Name(); {
	case name == "Del" || name == "Unlink":
		return "rmw.Value{}"
	case (name == "Set" || name == "SetEx" || name == "SetEX") && len(args) > 1:
		return s.value("rmw.String", args[1], "rmw.Bytes")
	case name == "HSet" && len(args) == 3:
		return s.value("cur.With("+types.ExprString(args[1])+", ", args[2], "")
	case name == "HDel" && len(args) > 1:
		return "cur.Without(" + strings.Join(texts(args[1:]), ", ") + ")"
	}
	return "…"
}

// value is the call that makes a value of a text; "" as bytes says that there is none for []byte.
func (s *shape) value(text string, x ast.Expr, bytes string) string {
	if !strings.HasSuffix(text, ", ") {
		text += "("
	}
	t := s.pass.TypesInfo.TypeOf(x)
	basic, ok := t.Underlying().(*types.Basic)
	switch {
	case ok && basic.Info()&types.IsString != 0:
		return text + types.ExprString(x) + ")"
	case ok && basic.Info()&types.IsInteger != 0:
		return text + "fmt.Sprint(" + types.ExprString(x) + "))"
	case bytes != "" && types.Identical(t, types.NewSlice(types.Typ[types.Byte])):
		return bytes + "(" + types.ExprString(x) + ")"
	}
	return text + "…)"
}

// ttl is the expiry that the writes leave behind: the TTL of a Key, and the reason in words.
func (s *shape) ttl(writes []access) (ttl, policy string) {
	ttl, policy = "", "the expiry stays as it is: no TTL"
	for _, a := range writes {
		args := s.args(a)
		switch name := a.call.Func.Name(); {
		case name == "Set" && len(args) == 3:
			if n, known := s.eval.Int(args[2]); known && n == 0 {
				ttl, policy = "rmw.NoTTL", "Set with 0 removes the expiry: TTL: rmw.NoTTL; leave TTL out to keep it"
			} else if known && n == -1 {
				ttl, policy = "", "KeepTTL keeps the expiry: no TTL"
			} else {
				ttl = types.ExprString(args[2])
				policy = "Set writes an expiry: TTL: " + ttl
			}
		case (name == "SetEx" || name == "SetEX") && len(args) == 3, (name == "Expire" || name == "PExpire") && len(args) > 1:
			ttl = types.ExprString(args[len(args)-1])
			policy = name + " writes an expiry: TTL: " + ttl
		case name == "Persist":
			ttl, policy = "rmw.NoTTL", "Persist removes the expiry: TTL: rmw.NoTTL"
		}
	}
	return ttl, policy
}

// source lists the commands as they are in the code.
func (s *shape) source() string {
	var all []string
	for _, a := range s.accesses {
		if call, ok := a.call.Node.(*ast.CallExpr); ok {
			if text := types.ExprString(call); !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return strings.Join(all, "; ")
}

func texts(exprs []ast.Expr) (all []string) {
	for _, x := range exprs {
		all = append(all, types.ExprString(x))
	}
	return all
}
