package rediskeys

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/profile"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/symbolic"
	"github.com/unwatch/unwatch/proxycompat"
)

//go:embed doc.go
var doc string

// SplitFlag is the name of the flag that makes the analyzer report MC403.
const SplitFlag = "split"

// Analyzer finds commands and keys that a proxy cannot serve.
var Analyzer = newAnalyzer()

func newAnalyzer() *analysis.Analyzer {
	var split bool
	a := &analysis.Analyzer{
		Name:     "rediskeys",
		Doc:      rediscalls.About(doc, "rediskeys"),
		URL:      "https://pkg.go.dev/github.com/unwatch/unwatch/cmd/migrate-check/analysis/rediskeys",
		Requires: []*analysis.Analyzer{rediscalls.Analyzer, symbolic.Analyzer, profile.Analyzer},
		Run: func(pass *analysis.Pass) (any, error) {
			run(pass, split)
			return nil, nil
		},
	}
	a.Flags.BoolVar(&split, SplitFlag, false, "report MC403, too: commands that the proxy splits")
	return a
}

// reader looks at the calls of a package.
type reader struct {
	pass    *analysis.Pass
	profile *proxycompat.Profile
	eval    *symbolic.Evaluator
	split   bool
	chains  rediscalls.Chains
	tagged  map[token.Pos]bool // keys whose hash tags have been looked at
}

func run(pass *analysis.Pass, split bool) {
	calls := pass.ResultOf[rediscalls.Analyzer].([]*rediscalls.Call)
	if len(calls) == 0 {
		return
	}
	r := &reader{
		pass: pass, profile: profile.Of(pass), eval: symbolic.Of(pass), split: split,
		chains: rediscalls.ChainsOf(pass), tagged: map[token.Pos]bool{},
	}
	for _, call := range calls {
		if call.How == rediscalls.Transaction || rediscalls.Receiver(call.Func) == "Script" {
			continue
		}
		for _, command := range call.Commands {
			r.command(call, command)
		}
	}
}

// command judges one command that a call may send.
func (r *reader) command(c *rediscalls.Call, command string) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return
	}
	rule := r.profile.RuleFor(words...)
	r.newer(c, command, rule)
	blocks := r.blocks(c, command)
	if rule.Verdict == proxycompat.OneKey || rule.Verdict == proxycompat.SameSlot || rule.Verdict == proxycompat.Split {
		if id := ruleOf(command, rule.Verdict, false); id != "" {
			r.several(c, command, rule)
		}
		return
	}
	id := ruleOf(command, rule.Verdict, blocks)
	switch rule.Verdict {
	case proxycompat.Refused, proxycompat.Closes:
		r.report(c, id, command, refusal(rule), rule)
	case proxycompat.HarmsOthers:
		r.report(c, id, command, "the proxy passes it on into a connection that all clients share", rule)
	case proxycompat.Misrouted:
		what := "the proxy sends it to the wrong server"
		if id == stallingRule {
			what = "the proxy sends it to the wrong server, where it blocks a connection that all clients share"
		}
		r.report(c, id, command, what, rule)
	case proxycompat.Unknown:
		if _, known := proxycompat.CommandOf(words...); !known && rule.Command == words[0] && r.other(rule) {
			r.report(c, strayRule+"/warning", command, "nobody knows where its key is, and the proxy goes by its first argument", rule)
			return
		}
		r.tags(c, command)
	default:
		r.tags(c, command)
	}
}

// other reports whether a rule is that for all that the profile does not know.
func (r *reader) other(rule proxycompat.Rule) bool {
	rule.Command = r.profile.Others().Command
	return rule == r.profile.Others()
}

func refusal(rule proxycompat.Rule) string {
	if rule.Verdict == proxycompat.Closes {
		return "the proxy closes the connection"
	}
	return "the proxy refuses it"
}

// report reports a command that the proxy does not serve.
func (r *reader) report(c *rediscalls.Call, id, command, what string, rule proxycompat.Rule) {
	if id == "" {
		return
	}
	if id == adminRule && command == "CONFIG SET" && r.mentions(c, "notify-keyspace-events") {
		return // redisnotify has said so
	}
	text := c.Through([]string{command}) + "; " + what
	if rule.Instead != "" {
		text += "; instead: " + rule.Instead
	}
	Report(r.pass, c, id, text)
}

// mentions reports whether an argument of a call is this text.
func (r *reader) mentions(c *rediscalls.Call, text string) bool {
	for _, arg := range c.Args {
		if known, ok := r.eval.Eval(arg).Known(); ok && strings.EqualFold(known, text) {
			return true
		}
	}
	return false
}

// Report reports a call. The rule may have a severity behind a slash, which is for the
// category alone.
func Report(pass *analysis.Pass, c *rediscalls.Call, rule, text string) {
	id, _, _ := strings.Cut(rule, "/")
	if _, called := c.Node.(*ast.CallExpr); !called {
		text += "; it is taken as a value here, and called elsewhere"
	}
	pass.Report(analysis.Diagnostic{
		Pos: c.Node.Pos(), End: c.Node.End(), Category: rule, Message: fmt.Sprintf("%s (%s)", text, id),
	})
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
