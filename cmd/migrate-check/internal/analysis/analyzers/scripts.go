package analyzers

import (
	"go/ast"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/symbolic"
	"github.com/unwatch/unwatch/proxycompat"
)

// The rules.
const (
	scriptSlotRule = "MC501"
	keylessRule    = "MC502"
	undeclaredRule = "MC503"
	commandRule    = "MC504"
	loadRule       = "MC505"
)

// script judges the functions that make scripts, and the methods of scripts.
func (r *reader) script(node ast.Node) {
	n, ok := node.(*ast.CallExpr)
	if !ok {
		return
	}
	fn := symbolic.Callee(r.pass.TypesInfo, n)
	if fn == nil {
		return
	}
	lib, ok := rediscalls.LibraryOf(fn.Pkg())
	if !ok {
		return
	}
	full := rediscalls.NameOf(fn)
	if at := sourceOf(lib, fn.Name()); rediscalls.Receiver(fn) == "" && at >= 0 && at < len(n.Args) {
		r.source(n.Args[at])
		if fn.Name() == "NewScriptServerSHA" {
			r.load(n, "SCRIPT LOAD", full)
		}
		return
	}
	switch rediscalls.Receiver(fn) {
	case "Script", "Lua", "EvalScript":
	case "Redis": // of go-zero: the script is an argument
		if strings.HasPrefix(fn.Name(), "ScriptRun") {
			r.scriptKeys(n, "EVAL", full, r.slice(argument(fn, n.Args, 1)))
		}
		return
	default:
		return
	}
	args := n.Args
	switch fn.Name() {
	case "Load":
		r.load(n, "SCRIPT LOAD", full)
	case "Exists":
		r.load(n, "SCRIPT EXISTS", full)
	case "RunRO", "EvalRO", "EvalShaRO":
		r.readOnly(n, full)
	case "Run", "Eval", "Exec": // of go-redis and rueidis: (ctx, c, keys, …)
		if strings.Contains(r.makerOf(n), "ReadOnly") {
			r.readOnly(n, full)
			return
		}
		r.scriptKeys(n, "EVAL", full, r.slice(argument(fn, args, 1)))
	case "EvalSha":
		r.fallback(n, full)
		r.scriptKeys(n, "EVALSHA", full, r.slice(argument(fn, args, 1)))
	case "ExecMulti":
		if !strings.Contains(r.makerOf(n), "NoSha") {
			r.load(n, "SCRIPT LOAD", full)
		}
	case "FlatCmd", "Cmd":
		k := r.slice(argument(fn, args, 1))
		if fn.Name() == "Cmd" && lib.Major < 4 {
			k = r.counted(n, args[min(1, len(args)):])
		}
		r.scriptKeys(n, "EVAL", full, k)
	case "SendHash":
		r.fallback(n, full)
		r.scriptKeys(n, "EVALSHA", full, r.counted(n, args[min(1, len(args)):]))
	case "Do", "Send":
		r.scriptKeys(n, "EVAL", full, r.counted(n, args[min(1, len(args)):]))
	case "DoContext":
		r.scriptKeys(n, "EVAL", full, r.counted(n, args[min(2, len(args)):]))
	}
}

// scriptCommands judges EVAL, SCRIPT and the like.
func (r *reader) scriptCommands(c *rediscalls.Call, _ []string) {
	n, called := c.Node.(*ast.CallExpr)
	if !called || rediscalls.Receiver(c.Func) == "Script" {
		return
	}
	for _, command := range c.Commands {
		switch {
		case strings.HasPrefix(command, "SCRIPT"):
			if command == "SCRIPT LOAD" {
				if args := behindCtx(c); c.How == rediscalls.Method && len(args) > 0 {
					r.source(args[0])
				}
			}
			r.load(n, command, c.Name())
		case command == "EVAL" || command == "EVALSHA":
			source, keys := r.parts(c, n)
			if command == "EVALSHA" {
				r.fallback(n, c.Name())
				source = nil
			}
			through, passed := c.Name(), source != nil && keys.open && len(keys.all) == 0 && r.unknown(source)
			if passed { // a wrapper is one finding
				through += " with a script that is not known here"
			}
			if told := r.scriptKeys(n, command, through, keys); source != nil && !(told && passed) {
				r.source(source)
			}
		}
	}
}

// load judges SCRIPT and its subcommands.
func (r *reader) load(n *ast.CallExpr, command, through string) {
	switch r.profile.Rule(command).Verdict {
	case proxycompat.Refused, proxycompat.Closes:
		r.report(n, loadRule, "%s through %s; the proxy refuses it: send EVALSHA, and EVAL when the answer is NOSCRIPT", command, through)
	case proxycompat.Misrouted, proxycompat.Unknown, proxycompat.HarmsOthers:
		r.report(n, loadRule, "%s through %s; it reaches one server only: send EVALSHA, and EVAL when the answer is NOSCRIPT", command, through)
	}
}

// fallback judges EVALSHA: on NOSCRIPT, the code must send the script.
func (r *reader) fallback(n *ast.CallExpr, through string) {
	if !r.handlesNoScript(n) {
		r.report(n, loadRule, "EVALSHA through %s; each server has its own scripts, and nothing here sends EVAL when the answer is NOSCRIPT", through)
	}
}

// handlesNoScript reports whether the function around a call handles NOSCRIPT.
func (r *reader) handlesNoScript(n *ast.CallExpr) (handles bool) {
	ast.Inspect(r.around(n.Pos()), func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			handles = handles || strings.Contains(n.Value, "NOSCRIPT")
		case *ast.Ident:
			handles = handles || strings.EqualFold(n.Name, "IsNoScript") || strings.EqualFold(n.Name, "NoScript")
		}
		return !handles
	})
	return handles
}

// readOnly judges EVAL_RO and EVALSHA_RO, which methods of scripts send, too.
func (r *reader) readOnly(n *ast.CallExpr, through string) {
	switch rule := r.profile.Rule("EVAL_RO"); rule.Verdict {
	case proxycompat.Refused, proxycompat.Closes:
		r.report(n, refusedRule, "EVAL_RO through %s; the proxy refuses it: send EVAL", through)
	case proxycompat.Misrouted:
		r.report(n, strayRule, "EVAL_RO through %s; the proxy sends it to the wrong server: send EVAL", through)
	}
}
