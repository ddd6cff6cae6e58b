package analyzers

import (
	"go/ast"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/symbolic"
	"github.com/unwatch/unwatch/proxycompat"
)

// keys are the keys of a call.
type keys struct {
	all  []ast.Expr
	open bool // further keys are possible
}

// several reports whether more than one key is possible.
func (k keys) several() bool { return k.open || len(k.all) > 1 }

// list adds the elements of a slice.
func (k *keys) list(e *symbolic.Evaluator, slice ast.Expr) {
	elements, known := e.List(slice)
	k.all = append(k.all, elements...)
	k.open = k.open || !known
}

// add adds the arguments of a call.
func (k *keys) add(e *symbolic.Evaluator, call *ast.CallExpr) {
	if call.Ellipsis.IsValid() {
		k.list(e, call.Args[len(call.Args)-1])
	} else {
		k.all = append(k.all, call.Args...)
	}
}

// place is the place of keys among the arguments of a typed method.
type place struct {
	at    int    // the argument behind the ctx
	rest  bool   // and all behind it
	step  int    // between keys, which alternate with values
	field string // of the argument, a struct
}

// typed lists the methods of go-redis with several keys, or with keys in other places than the
// first. For other methods, the first argument is the key, if it is a text.
func typed(method string) []place {
	switch method {
	case "Del", "Unlink", "Exists", "Touch", "MGet", "PFCount", "SInter", "SUnion", "SDiff", "ZDiff", "ZDiffWithScores":
		return []place{{at: 0, rest: true}}
	case "SInterStore", "SUnionStore", "SDiffStore", "PFMerge", "ZDiffStore",
		"BitOpAnd", "BitOpOr", "BitOpXor", "BitOpNot", "BitOpDiff", "BitOpDiff1", "BitOpAndOr", "BitOpOne":
		return []place{{at: 0}, {at: 1, rest: true}}
	case "ZUnionStore", "ZInterStore": // in v6 the keys follow a ZStore without them
		return []place{{at: 0}, {at: 1, field: "Keys"}, {at: 2, rest: true}}
	case "ZUnion", "ZUnionWithScores", "ZInter", "ZInterWithScores":
		return []place{{at: 0, field: "Keys"}}
	case "SInterCard", "ZInterCard", "BLPop", "BRPop", "BZPopMin", "BZPopMax":
		return []place{{at: 1, rest: true}}
	case "LMPop", "ZMPop":
		return []place{{at: 2, rest: true}}
	case "MSet", "MSetNX":
		return []place{{at: 0, rest: true, step: 2}}
	case "SMove", "RPopLPush", "BRPopLPush", "LMove", "BLMove", "Rename", "RenameNX", "Copy", "SortStore", "GeoSearchStore":
		return []place{{at: 0}, {at: 1}}
	case "GeoRadiusStore":
		return []place{{at: 0}, {at: 3, field: "Store"}, {at: 3, field: "StoreDist"}}
	case "GeoRadiusByMemberStore":
		return []place{{at: 0}, {at: 2, field: "Store"}, {at: 2, field: "StoreDist"}}
	case "ZRangeStore":
		return []place{{at: 0}, {at: 1, field: "Key"}}
	case "LCS":
		return []place{{at: 0, field: "Key1"}, {at: 0, field: "Key2"}}
	}
	return nil
}

// of returns the keys of a call that sends this command.
func (r *reader) of(c *rediscalls.Call, command string) keys {
	call, ok := c.Node.(*ast.CallExpr)
	if !ok {
		return keys{open: true}
	}
	switch c.How {
	case rediscalls.Builder:
		return r.built(call)
	case rediscalls.ByName:
		if c.Library.Name == rediscalls.Rueidis { // Arbitrary(…).Keys(…)
			k := r.built(call)
			if named := r.named(c, command); len(named.all) > 0 {
				k.all = append(named.all, k.all...)
			}
			return k
		}
		return r.named(c, command)
	}
	return r.method(c, call)
}

func (r *reader) method(c *rediscalls.Call, call *ast.CallExpr) (k keys) {
	args := behindCtx(c)
	name := c.Func.Name()
	places := typed(name)
	if places == nil {
		if len(args) == 0 || !firstIsKey(c.Commands[0]) || !symbolic.IsText(r.pass.TypesInfo.TypeOf(args[0])) {
			return k
		}
		places = []place{{at: 0}}
	}
	for _, p := range places {
		if p.at >= len(args) {
			continue
		}
		switch {
		case p.field != "":
			r.fieldKeys(&k, args[p.at], p.field)
		case p.rest && call.Ellipsis.IsValid():
			k.list(r.eval, args[len(args)-1])
			if p.step > 1 {
				k.all = everyOther(k.all)
			}
		case p.step > 1 && len(args)-p.at == 1: // a map, a struct, or a slice
			r.pairs(&k, args[p.at])
		case p.rest:
			for i := p.at; i < len(args); i += max(1, p.step) {
				k.all = append(k.all, args[i])
			}
		default:
			k.all = append(k.all, args[p.at])
		}
	}
	return k
}

// firstIsKey reports whether the first argument of a command is a key.
func firstIsKey(command string) bool {
	words := append(strings.Fields(command), "x")
	known, found := proxycompat.CommandOf(words...)
	return found && slices.Contains(known.Keys(words), len(words)-1)
}

func everyOther(all []ast.Expr) (out []ast.Expr) {
	for i := 0; i < len(all); i += 2 {
		out = append(out, all[i])
	}
	return out
}

// pairs returns the keys of a single argument of MSET.
func (r *reader) pairs(k *keys, arg ast.Expr) {
	lit := r.eval.Literal(arg)
	if lit == nil {
		k.open = true
		return
	}
	if _, ok := r.pass.TypesInfo.TypeOf(lit).Underlying().(*types.Map); ok {
		for _, element := range lit.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				k.all = append(k.all, pair.Key)
			}
		}
		return
	}
	if elements, ok := r.eval.List(arg); ok {
		k.all = append(k.all, everyOther(elements)...)
		return
	}
	k.open = true
}

// fieldKeys returns the keys in a field of a struct.
func (r *reader) fieldKeys(k *keys, arg ast.Expr, name string) {
	value, known := r.fieldOf(arg, name)
	switch {
	case !known:
		k.open = true
	case value == nil:
	case symbolic.IsText(r.pass.TypesInfo.TypeOf(value)):
		if text, ok := r.eval.Eval(value).Known(); !ok || text != "" {
			k.all = append(k.all, value)
		}
	default:
		k.list(r.eval, value)
	}
}

// named returns the keys of a command given as words, by Redis' own list.
func (r *reader) named(c *rediscalls.Call, command string) (k keys) {
	exprs, words, open := r.words(c, command)
	k.open = open
	known, found := proxycompat.CommandOf(words...)
	if !found {
		return keys{open: true}
	}
	for _, i := range known.Keys(words) {
		if i-1 < len(exprs) {
			k.all = append(k.all, exprs[i-1])
		}
	}
	if _, counted := known.States(words); !counted && r.counts(known, words) {
		k.open = true
	}
	return k
}

// words returns the arguments of a command given as words, and the known words with its name.
// open says that further arguments are possible.
func (r *reader) words(c *rediscalls.Call, command string) (exprs []ast.Expr, words []string, open bool) {
	exprs = c.Args
	if c.Spread {
		open = true
		if last := len(exprs) - 1; last >= 0 && isSlice(r.pass.TypesInfo.TypeOf(exprs[last])) {
			elements, known := r.eval.List(exprs[last])
			exprs = append(exprs[:last:last], elements...)
			open = !known
		}
	}
	words = strings.Fields(command)[:1] // a subcommand is among the arguments, too
	for _, x := range exprs {
		words = append(words, r.word(x))
		if isSlice(r.pass.TypesInfo.TypeOf(x)) {
			open = true // the client may spread its elements
		}
	}
	return exprs, words, open
}

// notKnown stands for an unknown word. No option has this name.
const notKnown = "?"

func (r *reader) word(x ast.Expr) string {
	if n, ok := r.eval.Int(x); ok {
		return strconv.FormatInt(n, 10)
	}
	if text, ok := r.eval.Eval(x).Known(); ok && symbolic.IsText(r.pass.TypesInfo.TypeOf(x)) {
		return text
	}
	return notKnown
}

// counts reports whether an unknown word is the number of keys.
func (*reader) counts(command proxycompat.Command, words []string) bool {
	for i, word := range words {
		if word != notKnown {
			continue
		}
		words[i] = "1"
		_, counted := command.States(words)
		words[i] = word
		if counted {
			return true
		}
	}
	return false
}

// built returns the keys of a builder: the arguments of the methods behind the first.
func (r *reader) built(call *ast.CallExpr) (k keys) {
	for name, outer := range r.behind(call) {
		args := outer.Args
		switch name {
		case "KeyValue":
			if len(args) > 0 {
				k.all = append(k.all, args[0])
			}
		case "Key", "Keys", "Source", "Destination", "Destkey", "Sourcekey", "Newkey", "Store", "Storedist", "Key1", "Key2", "Dst", "Src":
			k.add(r.eval, outer)
		case "Build", "Cache", "Blocking":
			return k
		}
	}
	k.open = true // the chain continues elsewhere
	return k
}

// builds reports whether the chain of a builder has a method of this name.
func (r *reader) builds(call *ast.CallExpr, name string) bool {
	for method := range r.behind(call) {
		if method == name {
			return true
		}
	}
	return false
}
