package analyzers

import (
	"go/ast"
	"go/types"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/symbolic"
	"github.com/unwatch/unwatch/proxycompat"
)

// scriptKeys judges the keys of a call of a script, and reports whether it found a mistake.
func (r *reader) scriptKeys(n *ast.CallExpr, command, through string, k keys) (told bool) {
	rule := r.profile.Rule(command)
	switch rule.Verdict {
	case proxycompat.Refused, proxycompat.Closes:
		r.report(n, refusedRule, "%s through %s; the proxy does not take scripts", command, through)
		return true
	case proxycompat.OneKey, proxycompat.SameSlot:
	default:
		return false
	}
	if len(k.all) == 0 && !k.open {
		if rule.Verdict == proxycompat.OneKey {
			r.report(n, keylessRule, "%s through %s without keys; the proxy goes by ARGV[1], or by nothing: pass the key as KEYS[1]", command, through)
		}
		return rule.Verdict == proxycompat.OneKey
	}
	if len(k.all) == 1 && !k.open {
		return false
	}
	id, why := r.apart(k, scriptSlotRule, rule.Verdict, "the proxy goes by KEYS[1] alone")
	if id != "" {
		r.report(n, id, "%s through %s; %s", command, through, why)
	}
	return id != ""
}

// slice returns the keys in a slice.
func (r *reader) slice(x ast.Expr) (k keys) {
	if x == nil {
		return keys{open: true}
	}
	elements, known := r.eval.List(x)
	return keys{elements, !known}
}

// counted returns the keys among some words, by the number of keys of the script.
func (r *reader) counted(n *ast.CallExpr, words []ast.Expr) keys {
	call := r.made(n)
	if call == nil || len(call.Args) < 2 {
		return keys{open: true}
	}
	count, known := r.eval.Int(call.Args[0])
	if known && count < 0 && len(words) > 0 { // of redigo: the first word is the number
		count, known = r.eval.Int(words[0])
		words = words[1:]
	}
	return r.first(words, count, known, n.Ellipsis.IsValid())
}

// first returns the first of some words; spread says that the last is a slice of words.
func (r *reader) first(words []ast.Expr, count int64, known, spread bool) (k keys) {
	if spread && len(words) > 0 {
		elements, all := r.eval.List(words[len(words)-1])
		words = append(words[:len(words)-1:len(words)-1], elements...)
		k.open = !all
	}
	if !known {
		return keys{open: true}
	}
	if count <= int64(len(words)) {
		return keys{all: words[:max(0, count)]}
	}
	k.all, k.open = words, true
	return k
}

// made is the call that made the script of a method call; nil if it is unknown.
func (r *reader) made(n *ast.CallExpr) *ast.CallExpr {
	script := receiver(n)
	if script == nil {
		return nil
	}
	call, _ := r.eval.Origin(script).(*ast.CallExpr)
	return call
}

// makerOf is the name of the function that made the script.
func (r *reader) makerOf(n *ast.CallExpr) string {
	if call := r.made(n); call != nil {
		if fn := symbolic.Callee(r.pass.TypesInfo, call); fn != nil {
			return fn.Name()
		}
	}
	return ""
}

// parts returns the script and the keys of an EVAL.
func (r *reader) parts(c *rediscalls.Call, n *ast.CallExpr) (source ast.Expr, k keys) {
	switch c.How {
	case rediscalls.Builder:
		return r.builtScript(n)
	case rediscalls.ByName:
		if len(c.Args) < 2 || c.Library.Name == rediscalls.Rueidis {
			return nil, keys{open: true}
		}
		count, known := r.eval.Int(c.Args[1])
		if text, ok := r.eval.Eval(c.Args[1]).Known(); ok && text == "0" || text == "1" { // of radix
			count, known = int64(text[0]-'0'), true
		}
		return c.Args[0], r.first(c.Args[2:], count, known, c.Spread)
	}
	args := behindCtx(c)
	if len(args) < 2 {
		return nil, keys{open: true}
	}
	return args[0], r.slice(args[1])
}

// builtScript returns those of a builder.
func (r *reader) builtScript(n *ast.CallExpr) (source ast.Expr, k keys) {
	ended := false
	for name, call := range r.behind(n) {
		switch name {
		case "Script":
			source = call.Args[0]
		case "Key":
			k.add(r.eval, call)
		case "Build":
			ended = true
		}
	}
	k.open = k.open || !ended
	return source, k
}

// argument is an argument of a function, counted behind a context; nil if there is none.
func argument(fn *types.Func, args []ast.Expr, at int) ast.Expr {
	if at += leading(fn); at < len(args) {
		return args[at]
	}
	return nil
}
