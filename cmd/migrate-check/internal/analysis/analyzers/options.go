package analyzers

import (
	"go/ast"
	"go/types"
	"net/url"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/symbolic"
	"github.com/unwatch/unwatch/proxycompat"
)

// isOptions reports whether a type has the options of a client, and returns the library.
func isOptions(t types.Type) (lib rediscalls.Library, name string, ok bool) {
	if t == nil {
		return lib, "", false
	}
	lib, name, ok = rediscalls.TypeOf(t)
	switch name {
	case "Options", "UniversalOptions", "FailoverOptions", "RingOptions", "ClusterOptions": // of go-redis
	case "ClientOption": // of rueidis
	case "Dialer", "PoolConfig": // of radix v4
	default:
		return lib, name, false
	}
	return lib, name, ok
}

// literal judges options in a literal.
func (r *reader) literal(lit *ast.CompositeLit) {
	if _, _, ok := isOptions(r.pass.TypesInfo.TypeOf(lit)); !ok {
		return
	}
	for _, element := range lit.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if id, ok := pair.Key.(*ast.Ident); ok {
				r.option(pair, id.Name, pair.Value)
			}
		}
	}
}

// assignment judges options in an assignment.
func (r *reader) assignment(n *ast.AssignStmt) {
	for i, left := range n.Lhs {
		sel, ok := ast.Unparen(left).(*ast.SelectorExpr)
		if !ok || len(n.Lhs) != len(n.Rhs) {
			continue
		}
		if _, _, ok := isOptions(r.pass.TypesInfo.TypeOf(sel.X)); ok {
			r.option(n, sel.Sel.Name, n.Rhs[i])
		}
	}
}

// option judges one option.
func (r *reader) option(n ast.Node, name string, value ast.Expr) {
	switch name {
	case "ClientName":
		if !r.zero(value) {
			r.name(n, "ClientName")
		}
	case "DB", "SelectDB":
		r.number(n, name, value)
	}
}

// name judges the name of a client, which the handshake sends.
func (r *reader) name(n ast.Node, option string) {
	rule := r.profile.Rule("CLIENT SETNAME")
	switch rule.Verdict {
	case proxycompat.OK, proxycompat.Backend:
		return
	case proxycompat.Closes:
		r.report(n, handshakeRule, "%s sends CLIENT SETNAME; the proxy closes each new connection for it: leave it out", option)
	default:
		r.report(n, handshakeRule, "%s sends CLIENT SETNAME; the proxy refuses it, and with it each new connection: leave it out", option)
	}
}

// hello judges the handshake of go-redis v9: HELLO with the version of the protocol, then CLIENT
// SETINFO twice. The client ignores a refusal. Options count only if the code passes them on.
func (r *reader) hello(x ast.Expr) {
	lit := r.eval.Literal(x)
	if lit == nil || r.greeted[lit] {
		return
	}
	r.greeted[lit] = true
	lib, name, _ := isOptions(r.pass.TypesInfo.TypeOf(lit))
	if lib.Name != rediscalls.GoRedis || lib.Major < 9 || name != "Options" && name != "UniversalOptions" {
		return
	}
	if r.isSet(lit, "Dialer") {
		return // a dialer of its own may answer them
	}
	two := false
	if protocol := r.field(lit, "Protocol"); protocol != nil {
		n, known := r.eval.Int(protocol)
		two = !known || n == 2
	} else if r.isSet(lit, "Protocol") {
		two = true
	}
	quiet := r.isSet(lit, "DisableIdentity") || r.isSet(lit, "DisableIndentity")
	switch hello := r.profile.Rule("HELLO"); {
	case hello.Verdict == proxycompat.Closes:
		r.report(lit, handshakeRule, "go-redis opens each connection with HELLO; the proxy closes it for that: "+
			"set the Dialer of proxycompat.Options")
	case hello.Verdict == proxycompat.HarmsOthers && !two:
		r.report(lit, handshakeRule+"/warning", "go-redis opens each connection with HELLO 3; the proxy passes it on, and a Redis from 6 on "+
			"then breaks a connection that all clients share: set Protocol: 2, or the Dialer of proxycompat.Options")
	case !quiet && !r.passes("CLIENT SETINFO"):
		r.report(lit, handshakeRule+"/note", "go-redis sends two CLIENT SETINFO on each new connection; the proxy refuses them: set DisableIdentity")
	}
}

// number judges the number of a database.
func (r *reader) number(n ast.Node, option string, value ast.Expr) {
	if text, known := r.eval.Eval(value).Known(); known && text != "" && text != "0" { // of radix
		r.database(n, option+" "+text)
		return
	}
	if db, known := r.eval.Int(value); known && db > 0 {
		r.database(n, option)
	}
}

// database reports another database than 0.
func (r *reader) database(n ast.Node, what string) {
	rule := r.profile.Rule("SELECT")
	switch rule.Verdict {
	case proxycompat.OK, proxycompat.Backend:
		r.report(n, databaseRule, "another database: %s; the proxy may not have it: check its number of databases", what)
	case proxycompat.Closes:
		r.report(n, databaseRule+"/error", "another database: %s; the proxy closes the connection on SELECT: use keys with a prefix", what)
	default:
		r.report(n, databaseRule+"/error", "another database: %s; the proxy refuses SELECT: use keys with a prefix", what)
	}
}

// addresses judges the arguments that are addresses.
func (r *reader) addresses(n *ast.CallExpr) {
	for _, arg := range n.Args {
		if !symbolic.IsText(r.pass.TypesInfo.TypeOf(arg)) {
			continue
		}
		text, known := r.eval.Eval(arg).Known()
		if !known {
			continue
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "valkey" && u.Scheme != "valkeys" {
			continue
		}
		db := strings.Trim(u.Path, "/")
		if given := u.Query().Get("db"); given != "" {
			db = given
		}
		if db != "" && strings.Trim(db, "0123456789") == "" && strings.Trim(db, "0") != "" {
			r.database(arg, "an address with "+db)
		}
		if u.Query().Get("client_name") != "" {
			r.name(arg, "client_name")
		}
	}
}
