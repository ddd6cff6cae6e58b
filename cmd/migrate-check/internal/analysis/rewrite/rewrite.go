package rewrite

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
)

// Options are what the code does not say.
type Options struct {
	// Store is an expression for the rmw.Store that updates shall go to, as "s.store". If it
	// is empty, one is looked for.
	Store string
}

// Of returns a change of a call that keeps what the code does. If there is none, fix is nil and
// why says what is in the way; scaffold is then the beginning of what to write, if there
// is any use in one.
func Of(pass *analysis.Pass, call *rediscalls.Call, o Options) (fix *analysis.SuggestedFix, why, scaffold string) {
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
		return watchOf(s, call, o)
	case "TxPipelined", "TxPipeline":
		fix, err := single(s, call)
		if err != nil {
			return nil, err.Error(), pipelineScaffold(s, call)
		}
		return fix, "", ""
	}
	return nil, "only Watch and TxPipelined are rewritten", ""
}

func watchOf(s *source, call *rediscalls.Call, o Options) (*analysis.SuggestedFix, string, string) {
	w, err := newWatch(s, call)
	if err != nil {
		return nil, err.Error(), watchScaffold(s, call, w, o, err.Error())
	}
	if !w.writes() {
		fix, err := w.look()
		if err != nil {
			return nil, err.Error(), watchScaffold(s, call, w, o, err.Error())
		}
		return fix, "", ""
	}
	fix, err := w.update(o)
	if err != nil {
		return nil, err.Error(), watchScaffold(s, call, w, o, err.Error())
	}
	return fix, "", ""
}
