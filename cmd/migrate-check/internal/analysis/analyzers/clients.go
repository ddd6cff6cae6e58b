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
	topologyRule  = "MC601"
	handshakeRule = "MC602"
	databaseRule  = "MC603"
)

// client judges a node that may set up a client.
func (r *reader) client(n ast.Node) {
	switch n := n.(type) {
	case *ast.CallExpr:
		r.maker(n)
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

// selects judges SELECT.
func (r *reader) selects(c *rediscalls.Call, found []string) { r.database(c.Node, c.Through(found)) }

// maker judges the functions that make clients, and their options.
func (r *reader) maker(n *ast.CallExpr) {
	fn := symbolic.Callee(r.pass.TypesInfo, n)
	if fn == nil {
		return
	}
	lib, ok := rediscalls.LibraryOf(fn.Pkg())
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

// topology reports whether a function makes a client of several servers.
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

// universal judges a universal client, which has one server or several by its options.
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

// isSet reports whether a field has a value, or may get one later.
func (r *reader) isSet(lit *ast.CompositeLit, name string) bool {
	value := r.field(lit, name)
	if value != nil {
		return !r.zero(value)
	}
	s := r.structOf(lit)
	return s != nil && !r.steady(s, name, lit.Pos())
}

// passes reports whether the proxy permits a command.
func (r *reader) passes(command string) bool {
	switch r.profile.Rule(command).Verdict {
	case proxycompat.OK, proxycompat.Backend, proxycompat.Split:
		return true
	}
	return false
}

// zero reports whether a value surely is the zero value.
func (r *reader) zero(x ast.Expr) bool {
	tv := r.pass.TypesInfo.Types[x]
	if tv.IsNil() {
		return true
	}
	return tv.Value != nil && (tv.Value.String() == `""` || tv.Value.String() == "0" || tv.Value.String() == "false")
}
