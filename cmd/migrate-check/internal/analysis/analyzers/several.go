package analyzers

import (
	"go/ast"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/symbolic"
	"github.com/unwatch/unwatch/proxycompat"
)

// several judges a command that may have several keys.
func (r *reader) several(c *rediscalls.Call, command string, rule proxycompat.Rule) {
	if _, called := c.Node.(*ast.CallExpr); !called {
		return // the number of keys is unknown here
	}
	k := r.of(c, command)
	r.mistakes(k)
	if !k.several() {
		return
	}
	if rule.Verdict == proxycompat.Split {
		if r.flag(SplitFlag) == "true" {
			c.Report(r.pass, splitRule, c.Through([]string{command})+"; the proxy makes one command of each key, so it is not atomic")
		}
		return
	}
	if id, why := r.apart(k, slotRule, rule.Verdict, "the proxy looks at one key alone"); id != "" {
		c.Report(r.pass, id, c.Through([]string{command})+"; "+why)
	}
}

// apart returns the reason why keys are not proven to share a slot, and the rule for that; ""
// if they are proven to.
func (r *reader) apart(k keys, rule string, verdict proxycompat.Verdict, what string) (id, why string) {
	if verdict == proxycompat.SameSlot {
		what = "it is refused unless they share a slot"
	}
	proof, why := r.prove(k)
	switch proof {
	case symbolic.Apart:
		rule += "/error"
	case symbolic.Together:
		return "", ""
	}
	return rule, why + ", and " + what
}

// prove proves that keys are in one slot, or that they are not. Unknown further keys permit only the second.
func (r *reader) prove(k keys) (proof symbolic.Proof, why string) {
	if r.profile.Hash() == "none" {
		return symbolic.Together, ""
	}
	values := make([]symbolic.Value, len(k.all))
	for i, x := range k.all {
		values[i] = r.eval.Eval(x)
	}
	proof = symbolic.Together
	for i, v := range values {
		switch symbolic.Compare(r.profile, values[0], v) {
		case symbolic.Apart:
			return symbolic.Apart, symbolic.Explain(r.profile, values[0], v)
		case symbolic.Unproven:
			if proof == symbolic.Together {
				proof, why = symbolic.Unproven, symbolic.Explain(r.profile, values[0], values[i])
			}
		}
	}
	if k.open && proof == symbolic.Together {
		return symbolic.Unproven, "how many keys it has is not known here"
	}
	return proof, why
}

// blocks reports whether a call may block its connection.
func (r *reader) blocks(c *rediscalls.Call, command string) bool {
	words := strings.Fields(command)
	known, found := proxycompat.CommandOf(words...)
	if !found || !known.Blocks() {
		return false
	}
	if command != "XREAD" && command != "XREADGROUP" {
		return true
	}
	call, called := c.Node.(*ast.CallExpr)
	switch {
	case !called || c.Func.Name() == "XReadStreams":
		return false
	case c.How == rediscalls.Builder:
		return r.builds(call, "Block")
	case c.How == rediscalls.ByName:
		return r.mentions(c, "BLOCK")
	}
	args := behindCtx(c)
	if len(args) == 0 {
		return false
	}
	// go-redis omits BLOCK only for a negative number: the zero value is BLOCK 0, for ever.
	value, known1 := r.fieldOf(args[0], "Block")
	if !known1 {
		return false
	}
	if value == nil {
		return true
	}
	n, sure := r.eval.Int(value)
	return !sure || n >= 0
}

// tags looks for mistakes in the hash tags of the keys.
func (r *reader) tags(c *rediscalls.Call, command string) {
	if _, called := c.Node.(*ast.CallExpr); !called {
		return
	}
	r.mistakes(r.of(c, command))
}

func (r *reader) mistakes(k keys) {
	for _, x := range k.all {
		if r.tagged[x.Pos()] {
			continue
		}
		r.tagged[x.Pos()] = true
		key := r.eval.Eval(x)
		for _, m := range symbolic.Mistakes(r.profile, key) {
			id := tagRule
			if m.Mild && k.several() {
				continue // the constant tag puts the keys into one slot
			}
			if m.Mild {
				id += "/note"
			}
			r.report(x, id, "key %s; %s", key, m.What)
		}
	}
}
