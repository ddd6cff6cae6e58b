package analyzers

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
)

// several is the guide to transactions with more than one key.
const several = "docs/several-keys.md"

// maxShown bounds the keys that a call shows.
const maxShown = 8

// together explains a transaction over several keys, which rmw.Transact replaces if they are strings and hashes.
func (s *shape) together(c *finding.Change, class string) {
	c.Class = class
	var keys, others, policies []string
	late := s.open
	for _, key := range s.keys() {
		name := types.ExprString(key)
		var writes []access
		repeated := false
		for _, a := range s.on(key) {
			repeated = repeated || a.repeated
			if a.writes {
				writes = append(writes, a)
			}
		}
		fields := "Name: " + name
		switch s.kindOf(key) {
		case "string", "":
		case "hash":
			fields += ", Kind: rmw.KindHash"
		default:
			others = append(others, name)
		}
		if repeated {
			late = true
			continue
		}
		if len(writes) > 0 {
			ttl, policy := s.ttl(writes)
			if ttl != "" {
				fields += ", TTL: " + ttl
			}
			policies = append(policies, name+": "+policy)
		}
		keys = append(keys, "rmw.Key{"+fields+"}")
	}
	if len(others) > 0 {
		c.Advice = "rmw.Transact changes strings and hashes together: make " + strings.Join(others, " and ") +
			" a hash, with a field for each entry; " + several + " has an example, and the stamps for an index that must stay as it is"
		return
	}
	c.TTL = strings.Join(policies, "; ")
	c.Advice = "change all keys by rmw.Transact over lockupdate, or over cas until the proxy is there: " + several
	if late {
		c.Advice += "; get further keys in fn by tx.Get"
	}
	if slices.ContainsFunc(s.accesses, func(a access) bool { return a.command == "MGET" }) {
		c.Advice += "; replace this MGET first, and others of these keys: it shows nil while a Transact runs"
	}
	if late && len(keys) == 0 || len(keys) > maxShown {
		keys = append(keys[:min(len(keys), maxShown)], "…")
	}
	c.After = "rmw.Transact(ctx, store, func(ctx context.Context, tx *rmw.Tx) error { …; return nil }, " + strings.Join(keys, ", ") + ")"
}

// keys are all keys of the transaction, once each: the watched ones, then the others.
func (s *shape) keys() (found []ast.Expr) {
	add := func(key ast.Expr) {
		if !slices.ContainsFunc(found, func(x ast.Expr) bool { return s.sameKey(x, key) }) {
			found = append(found, key)
		}
	}
	for _, key := range s.watched {
		add(key)
	}
	for _, a := range s.accesses {
		add(a.key)
	}
	return found
}
