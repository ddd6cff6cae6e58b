package analyzers

import (
	"fmt"
	"go/ast"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rewrite"
	"github.com/unwatch/unwatch/internal/rules"
)

// The rules.
const (
	watchRule       = "MC101"
	transactionRule = "MC102"
	namedRule       = "MC103"
)

// transaction judges a command of a transaction, or a pipeline that is one.
func (r *reader) transaction(c *rediscalls.Call, found []string) {
	what, refused := rules.Refusal(r.profile, found...)
	if !refused {
		return
	}
	switch {
	case c.How == rediscalls.Transaction:
		text := fmt.Sprintf("MULTI and EXEC through %s; %s", c.Name(), what)
		if what == carriedOut {
			text = fmt.Sprintf("MULTI and EXEC through %s; the proxy refuses them, and carries out what is between", c.Name())
		}
		c.Report(r.pass, transactionRule, text, r.change(c))
	case c.How != rediscalls.ByName && found[0] == "WATCH":
		c.Report(r.pass, watchRule, c.Through(found)+"; "+what, r.change(c))
	default:
		c.Report(r.pass, namedRule, c.Through(found)+"; "+what)
	}
	if call, ok := c.Node.(*ast.CallExpr); ok && found[0] == "WATCH" {
		r.protects(c, call, r.watched(c, call))
	}
}

// carriedOut is the refusal that leaves the connection open.
const carriedOut = "the proxy refuses it"

// change adds the fix to a diagnostic, or a rewrite.Unfixed.
func (r *reader) change(c *rediscalls.Call) func(*analysis.Diagnostic) {
	return func(d *analysis.Diagnostic) {
		fix, why, scaffold := rewrite.Of(r.pass, c, r.flag(StoreFlag))
		if fix != nil {
			d.SuggestedFixes = []analysis.SuggestedFix{*fix}
			return
		}
		d.Related = append(d.Related, rewrite.Unfixed{Why: why, Scaffold: scaffold}.Related(d.Pos, d.End))
	}
}
