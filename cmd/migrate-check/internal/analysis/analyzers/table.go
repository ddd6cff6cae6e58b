package analyzers

import (
	_ "embed"
	"flag"
	"fmt"
	"go/ast"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/profile"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/symbolic"
	"github.com/unwatch/unwatch/internal/rules"
)

// The names of the analyzer with a result, of that with a flag, and of the flag.
const (
	Transactions = "redistx"
	Keys         = "rediskeys"
	SplitFlag    = "split" // also report MC403
)

// entry is an analyzer: its inputs and its rules. The calls come from
// [rediscalls.Analyzer].
type entry struct {
	name  string
	flags func(*flag.FlagSet)     // nil: none
	texts bool                    // needs package symbolic
	proxy bool                    // finds nothing without a proxy
	node  func(*reader, ast.Node) // called for each node of the package, before the calls; may be nil
	rules []rule                  // applied to each call, in this order
}

// rule is a rule for calls. One without a judge is a row with its id.
type rule struct {
	id       string   // "": judge decides
	commands []string // nil: all calls
	// judge reports the mistakes of a call that may send some of the commands. nil: report
	// that the proxy does not serve them.
	judge func(r *reader, c *rediscalls.Call, found []string)
}

var table = []entry{
	{
		name: Transactions, texts: true,
		rules: []rule{{commands: []string{"WATCH", "MULTI", "EXEC", "DISCARD", "UNWATCH"}, judge: (*reader).transaction}},
	},
	{
		name: "redispubsub",
		rules: []rule{
			{id: "MC201", commands: []string{"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"}},
			{id: "MC202", commands: []string{"PUBLISH", "SPUBLISH"}},
		},
	},
	{
		name:  "redisunknown",
		rules: []rule{{judge: (*reader).unknownName}},
	},
	{
		name: Keys, texts: true,
		flags: func(f *flag.FlagSet) {
			f.Bool(SplitFlag, false, "report MC403, too: commands that the proxy splits")
		},
		rules: []rule{{judge: (*reader).served}},
	},
	{
		name: "redisclient", texts: true, proxy: true,
		node:  (*reader).client,
		rules: []rule{{commands: []string{"SELECT"}, judge: (*reader).selects}},
	},
	{
		name: "redisnotify", texts: true, proxy: true,
		rules: []rule{{commands: []string{"SUBSCRIBE", "PSUBSCRIBE", "CONFIG SET"}, judge: (*reader).notifications}},
	},
	{
		name: "redisscripts", texts: true, proxy: true,
		node:  (*reader).script,
		rules: []rule{{judge: (*reader).scriptCommands}},
	},
}

//go:embed doc.go
var doc string

var all = build()

func build() (made []*analysis.Analyzer) {
	for _, e := range table {
		a := &analysis.Analyzer{
			Name:     e.name,
			Doc:      rediscalls.About(doc, e.name),
			URL:      "https://github.com/unwatch/unwatch/blob/main/docs/migrate-check.md",
			Requires: []*analysis.Analyzer{rediscalls.Analyzer, profile.Analyzer},
			Run:      e.run,

			ResultType: reflect.TypeFor[Changes](),
		}
		if e.texts {
			a.Requires = append(a.Requires, symbolic.Analyzer)
		}
		if e.flags != nil {
			e.flags(&a.Flags)
		}
		made = append(made, a)
	}
	return made
}

// All returns the analyzers.
func All() []*analysis.Analyzer { return slices.Clone(all) }

// Named returns the analyzer of a name; nil if there is none.
func Named(name string) *analysis.Analyzer {
	for _, a := range all {
		if a.Name == name {
			return a
		}
	}
	return nil
}

func (e entry) run(pass *analysis.Pass) (any, error) {
	r := newReader(pass, e.texts)
	if e.proxy && r.profile.Server() {
		return r.changes, nil
	}
	if e.node != nil {
		for n := range rediscalls.Nodes(pass) {
			e.node(r, n)
		}
	}
	for _, c := range r.calls {
		for _, rule := range e.rules {
			rule.on(r, c)
		}
	}
	return r.changes, nil
}

func (u rule) on(r *reader, c *rediscalls.Call) {
	found := c.Of(u.commands)
	switch {
	case len(found) == 0 && u.commands != nil:
	case u.judge != nil:
		u.judge(r, c, found)
	default:
		if what, refused := rules.Refusal(r.profile, found...); refused {
			c.Report(r.pass, u.id, c.Through(found)+"; "+what)
		}
	}
}

// unknownName reports a command with an unknown name.
func (r *reader) unknownName(c *rediscalls.Call, _ []string) {
	if !c.Unknown {
		return
	}
	text := fmt.Sprintf("which command %s sends is not known before the program runs", c.Name())
	if len(c.Commands) > 0 {
		text = fmt.Sprintf("%s sends %s, or a command that is not known before the program runs",
			c.Name(), strings.Join(c.Commands, " or "))
	}
	c.Report(r.pass, "MC901", text)
}
