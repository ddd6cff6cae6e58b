package rewrite

import (
	"go/ast"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
)

// Of returns a change of a call that keeps the behaviour of the code. If there is none, fix is nil, why is the reason,
// and scaffold is the beginning of the new code, or "". store is an expression for the rmw.Store of the updates, as
// "s.store". If it is empty, the only store in scope is used.
func Of(pass *analysis.Pass, call *rediscalls.Call, store string) (fix *analysis.SuggestedFix, why, scaffold string) {
	node, ok := call.Node.(*ast.CallExpr)
	if !ok {
		return nil, "it is taken as a value, so its arguments stand elsewhere", ""
	}
	s, err := newSource(pass, node)
	if err != nil {
		return nil, err.Error(), ""
	}
	switch call.Func.Name() {
	case "Watch":
		w, err := newWatch(s, call)
		switch {
		case err != nil:
		case w.writes():
			fix, err = w.update(store)
		default:
			fix, err = w.look()
		}
		if err != nil {
			return nil, err.Error(), w.scaffold(call, store, err.Error())
		}
		return fix, "", ""
	case "TxPipelined", "TxPipeline":
		fix, err := single(s, call)
		if err != nil {
			return nil, err.Error(), pipelineScaffold(s, call)
		}
		return fix, "", ""
	}
	return nil, "only Watch and TxPipelined are rewritten", ""
}

// Unfixed stands in a diagnostic in place of a fix.
type Unfixed struct {
	Why      string // in one line
	Scaffold string // Go, or nothing
}

const unfixed = "not fixed: "

// Related encodes it as a related place, the only free text of a diagnostic.
func (u Unfixed) Related(pos, end token.Pos) analysis.RelatedInformation {
	return analysis.RelatedInformation{Pos: pos, End: end, Message: unfixed + u.Why + "\n" + u.Scaffold}
}

// UnfixedOf returns the Unfixed of a diagnostic, and the other related places.
func UnfixedOf(d analysis.Diagnostic) (u Unfixed, others []analysis.RelatedInformation, ok bool) {
	for _, r := range d.Related {
		text, found := strings.CutPrefix(r.Message, unfixed)
		if !found {
			others = append(others, r)
			continue
		}
		u.Why, u.Scaffold, _ = strings.Cut(text, "\n")
		ok = true
	}
	return u, others, ok
}
