package redisclient

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/profile"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/symbolic"
	"github.com/unwatch/unwatch/proxycompat"
)

//go:embed doc.go
var doc string

// Analyzer finds clients whose setup does not suit a proxy.
var Analyzer = &analysis.Analyzer{
	Name:     "redisclient",
	Doc:      rediscalls.About(doc, "redisclient"),
	URL:      "https://pkg.go.dev/github.com/unwatch/unwatch/cmd/migrate-check/analysis/redisclient",
	Requires: []*analysis.Analyzer{rediscalls.Analyzer, symbolic.Analyzer, profile.Analyzer},
	Run:      run,
}

// The rules.
const (
	topologyRule  = "MC601"
	handshakeRule = "MC602"
	databaseRule  = "MC603"
)

// reader looks at the clients of a package.
type reader struct {
	pass    *analysis.Pass
	profile *proxycompat.Profile
	eval    *symbolic.Evaluator
	greeted map[*ast.CompositeLit]bool // options whose handshake has been looked at
}

func run(pass *analysis.Pass) (any, error) {
	r := &reader{pass: pass, profile: profile.Of(pass), eval: symbolic.Of(pass), greeted: map[*ast.CompositeLit]bool{}}
	if r.profile.Server() {
		return nil, nil
	}
	for n := range rediscalls.Nodes(pass) {
		switch n := n.(type) {
		case *ast.CallExpr:
			r.call(n)
		case *ast.CompositeLit:
			r.literal(n)
		case *ast.AssignStmt:
			r.assignment(n)
		case *ast.ReturnStmt:
			for _, result := range n.Results {
				r.hello(result)
			}
		}
	}
	for _, c := range pass.ResultOf[rediscalls.Analyzer].([]*rediscalls.Call) {
		if found := c.Of([]string{"SELECT"}); len(found) > 0 {
			r.database(c.Node, c.Through(found))
		}
	}
	return nil, nil
}

func (r *reader) report(n ast.Node, rule, text string, args ...any) {
	id, _, _ := strings.Cut(rule, "/")
	r.pass.Report(analysis.Diagnostic{
		Pos: n.Pos(), End: n.End(), Category: rule, Message: fmt.Sprintf(text, args...) + " (" + id + ")",
	})
}

// call judges the functions that make clients, and their options.
func (r *reader) call(n *ast.CallExpr) {
	fn := symbolic.Callee(r.pass.TypesInfo, n)
	if fn == nil {
		return
	}
	lib, ok := rediscalls.LibraryOf(fn)
	if !ok {
		return
	}
	name, recv := fn.Name(), rediscalls.Receiver(fn)
	switch {
	case topology(lib.Name, recv, name):
		r.report(n, topologyRule, "%s through %s; a proxy speaks as one server does: connect to it with a client of one server",
			"several servers", rediscalls.NameOf(fn))
	case name == "NewUniversalClient" && len(n.Args) == 1:
		r.universal(n)
		r.hello(n.Args[0])
	case lib.Name == rediscalls.GoRedis && name == "NewClient" && len(n.Args) == 1:
		r.hello(n.Args[0])
	case lib.Name == rediscalls.Rueidis && name == "NewClient" && len(n.Args) == 1:
		r.rueidis(n)
	case lib.Name == rediscalls.Redigo && name == "DialClientName":
		r.name(n, "DialClientName")
	case (name == "DialDatabase" || name == "DialSelectDB") && len(n.Args) == 1:
		r.number(n, name, n.Args[0])
	case recv == "" && (strings.HasPrefix(name, "Dial") || strings.HasSuffix(name, "ParseURL")):
		r.addresses(n)
	}
}

// topology reports whether a function makes a client that knows of several servers.
func topology(lib rediscalls.Name, recv, name string) bool {
	switch lib {
	case rediscalls.GoRedis:
		switch name {
		case "NewClusterClient", "NewFailoverClient", "NewFailoverClusterClient", "NewSentinelClient", "NewRing":
			return recv == ""
		}
	case rediscalls.Radix:
		return recv == "" && (name == "NewCluster" || name == "NewSentinel") ||
			name == "New" && (recv == "ClusterConfig" || recv == "SentinelConfig")
	}
	return false
}

// universal is a client of one server, or not, as its options say.
func (r *reader) universal(n *ast.CallExpr) {
	lit := r.eval.Literal(n.Args[0])
	if lit == nil {
		return
	}
	why := ""
	if addrs := r.field(lit, "Addrs"); addrs != nil {
		if all, known := r.eval.List(addrs); known && len(all) > 1 {
			why = "several Addrs"
		}
	}
	if name := r.field(lit, "MasterName"); name != nil && !r.zero(name) {
		why = "MasterName"
	}
	if cluster := r.field(lit, "IsClusterMode"); cluster != nil && !r.zero(cluster) {
		why = "IsClusterMode"
	}
	if why != "" {
		r.report(n, topologyRule, "several servers through NewUniversalClient with %s; a proxy speaks as one server does: give it one address", why)
	}
}

// rueidis is a client of rueidis, or of valkey-go.
func (r *reader) rueidis(n *ast.CallExpr) {
	lit := r.eval.Literal(n.Args[0])
	if lit == nil {
		return
	}
	if sentinel := r.field(lit, "Sentinel"); sentinel != nil {
		r.report(n, topologyRule, "sentinels through NewClient with Sentinel; a proxy speaks as one server does: give it one address")
		return
	}
	if addrs := r.field(lit, "InitAddress"); addrs != nil && !r.isSet(lit, "ForceSingleClient") {
		if all, known := r.eval.List(addrs); known && len(all) > 1 {
			r.report(n, topologyRule, "several servers through NewClient with several InitAddress; a proxy speaks as one server does: give it one address")
			return
		}
	}
	var missing []string
	for _, option := range []string{"AlwaysRESP2", "DisableCache", "ForceSingleClient"} {
		if !r.isSet(lit, option) {
			missing = append(missing, option)
		}
	}
	if len(missing) > 0 && !r.passes("CLIENT TRACKING") {
		r.report(n, handshakeRule, "NewClient of rueidis without %s; its handshake fails: set %s, and ClientSetInfo to DisableClientSetInfo",
			strings.Join(missing, ", "), strings.Join(missing, ", "))
	}
}

// isSet reports whether a field is given something, or may be later on.
func (r *reader) isSet(lit *ast.CompositeLit, name string) bool {
	value := r.field(lit, name)
	if value != nil {
		return !r.zero(value)
	}
	for field := range fieldsOf(r.pass.TypesInfo.TypeOf(lit)) {
		if field.Name() == name {
			return !r.eval.Steady(field, lit.Pos())
		}
	}
	return false
}

// passes reports whether the proxy takes a command.
func (r *reader) passes(command string) bool {
	switch r.profile.Rule(command).Verdict {
	case proxycompat.OK, proxycompat.Backend, proxycompat.Split:
		return true
	}
	return false
}

// fieldsOf are the fields of a struct.
func fieldsOf(t types.Type) func(func(*types.Var) bool) {
	return func(yield func(*types.Var) bool) {
		s, ok := t.Underlying().(*types.Struct)
		if !ok {
			return
		}
		for field := range s.Fields() {
			if !yield(field) {
				return
			}
		}
	}
}

// field is what a literal gives a field; nil if nothing.
func (*reader) field(lit *ast.CompositeLit, name string) ast.Expr {
	for _, element := range lit.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if id, ok := pair.Key.(*ast.Ident); ok && id.Name == name {
				return pair.Value
			}
		}
	}
	return nil
}

// zero reports whether a value is known to be that of nothing.
func (r *reader) zero(x ast.Expr) bool {
	tv := r.pass.TypesInfo.Types[x]
	if tv.IsNil() {
		return true
	}
	return tv.Value != nil && (tv.Value.String() == `""` || tv.Value.String() == "0" || tv.Value.String() == "false")
}
