package analyzers

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/proxycompat"
)

// newer reports an argument that the server behind the proxy does not know.
func (r *reader) newer(c *rediscalls.Call, command string, rule proxycompat.Rule) {
	call, called := c.Node.(*ast.CallExpr)
	if !called {
		return
	}
	id, may := refusedRule, ""
	var calls [][]string
	switch c.How {
	case rediscalls.ByName:
		_, words, _ := r.words(c, command)
		calls = [][]string{known(words)}
	case rediscalls.Builder:
		calls = [][]string{r.chained(call, command)}
	default:
		if n, sure := r.values(c, call); n > 0 {
			calls = [][]string{append(strings.Fields(command), make([]string, n)...)}
			if !sure {
				id, may = refusedRule+"/warning", "how many fields it has is not known here, and "
			}
		} else {
			calls = r.formsOf(c)
		}
	}
	for _, words := range calls {
		if a, newer := rule.TooNew(words); newer {
			text := c.Through([]string{command}) + "; " + may + a.Why(r.profile.Backend()) + "; instead: " + a.Instead
			c.Report(r.pass, id, text)
			return
		}
	}
}

// known has the words for [proxycompat.Rule.TooNew].
func known(words []string) []string {
	for i, word := range words {
		if word == notKnown {
			words[i] = ""
		}
	}
	return words
}

// chained returns the words of a builder: a method without
// arguments is a word, and the arguments of other methods are unknown words.
func (r *reader) chained(call *ast.CallExpr, command string) []string {
	words := strings.Fields(command)
	for name, outer := range r.behind(call) {
		switch {
		case name == "Build" || name == "Cache" || name == "Blocking":
			return words
		case len(outer.Args) > 0:
			words = append(words, make([]string, len(outer.Args))...)
		case name != "FieldValue" && name != "ScoreMember" && name != "LongitudeLatitudeMember":
			words = append(words, strings.ToUpper(name))
		}
	}
	return words
}

// values returns the number of words of the key and the values of a variadic method; 0 if it is another method, or if
// the number is unknown. A map or a struct counts as one
// field with its value, and sure is false then.
func (r *reader) values(c *rediscalls.Call, call *ast.CallExpr) (words int, sure bool) {
	name, args := c.Func.Name(), behindCtx(c)
	if name != "HSet" && name != "LPushX" && name != "RPushX" || len(args) < 2 {
		return 0, false
	}
	if call.Ellipsis.IsValid() {
		elements, known := r.eval.List(args[len(args)-1])
		if !known {
			return 0, false
		}
		args = append(args[:1:1], elements...)
	}
	if name != "HSet" || len(args) > 2 {
		return len(args), true
	}
	lit := r.eval.Literal(args[1])
	switch t := r.pass.TypesInfo.TypeOf(args[1]).Underlying().(type) {
	case *types.Map:
		if lit != nil {
			return 1 + 2*len(lit.Elts), true
		}
	case *types.Slice:
		if elements, known := r.eval.List(args[1]); known {
			return 1 + len(elements), true
		}
	case *types.Struct:
		if t.NumFields() < 2 {
			return 0, false
		}
	case *types.Pointer:
	default:
		return 0, false
	}
	return 5, false
}

// form is a condition under which a method of go-redis sends an argument: always, or if a field of its last
// argument is set, or with the expiration KeepTTL. words is the command then.
type form struct{ methods, when, words string }

// forms are from the source of go-redis v9.23.0.
func forms() []form {
	const keep = "KeepTTL"
	return []form{
		{"Set SetNX SetXX", keep, "SET k v KEEPTTL"},
		{"SetArgs", keep, "SET k v KEEPTTL"},
		{"SetArgs", "Get", "SET k v GET"},
		{"SetArgs", "ExpireAt", "SET k v EXAT 1"},
		{"SetIFEQ SetIFEQGet SetIFNE SetIFNEGet SetIFDEQ SetIFDEQGet SetIFDNE SetIFDNEGet", "", "SET k v IFEQ w"},
		{"LPopCount", "", "LPOP k 1"},
		{"RPopCount", "", "RPOP k 1"},
		{"SPopN", "", "SPOP k 1"},
		{"ExpireNX ExpireXX ExpireGT ExpireLT", "", "EXPIRE k 1 NX"},
		{"ZAddNX ZAddXX", "", "ZADD k NX 1 m"},
		{"ZAddGT ZAddLT", "", "ZADD k GT 1 m"},
		{"ZAddArgs ZAddArgsIncr", "GT", "ZADD k GT 1 m"},
		{"ZAddArgs ZAddArgsIncr", "LT", "ZADD k LT 1 m"},
		{"ZRangeArgs ZRangeArgsWithScores", "ByScore", "ZRANGE k 0 1 BYSCORE"},
		{"ZRangeArgs ZRangeArgsWithScores", "ByLex", "ZRANGE k 0 1 BYLEX"},
		{"ZRangeArgs ZRangeArgsWithScores", "Rev", "ZRANGE k 0 1 REV"},
		{"ZRangeArgs ZRangeArgsWithScores", "Count", "ZRANGE k 0 1 LIMIT 0 1"},
		{"ZRankWithScore", "", "ZRANK k m WITHSCORE"},
		{"ZRevRankWithScore", "", "ZREVRANK k m WITHSCORE"},
		{"BitCount", "Unit", "BITCOUNT k 0 1 BIT"},
		{"BitPosSpan", "", "BITPOS k 1 0 1 BIT"},
		{"BitOpDiff BitOpDiff1 BitOpAndOr BitOpOne", "", "BITOP ONE d k"},
		{"XAdd", "NoMkStream", "XADD k NOMKSTREAM * f v"},
		{"XAdd", "MinID", "XADD k MINID 1 * f v"},
		{"XAdd", "Limit", "XADD k MAXLEN ~ 1 LIMIT 1 * f v"},
		{"XAdd", "Mode", "XADD k KEEPREF * f v"},
		{"XAdd", "IdempotentAuto", "XADD k IDMPAUTO p * f v"},
		{"XAdd", "IdempotentID", "XADD k IDMP p i * f v"},
		{"XTrimMinID XTrimMinIDApprox", "", "XTRIM k MINID 1"},
		{"XPendingExt", "Idle", "XPENDING k g IDLE 1 - + 1"},
		{"ScanType", "", "SCAN 0 TYPE string"},
		{"HScanNoValues", "", "HSCAN k 0 NOVALUES"},
		{"FlushAllAsync", "", "FLUSHALL ASYNC"},
		{"FlushDBAsync", "", "FLUSHDB ASYNC"},
	}
}

// formsOf returns the commands of the forms that surely apply to a call.
func (r *reader) formsOf(c *rediscalls.Call) (calls [][]string) {
	args := behindCtx(c)
	if c.Library.Name != rediscalls.GoRedis || len(args) == 0 && !strings.HasPrefix(c.Func.Name(), "Flush") {
		return nil
	}
	for _, f := range forms() {
		if slices.Contains(strings.Fields(f.methods), c.Func.Name()) && (f.when == "" || r.sets(args[len(args)-1], f.when)) {
			calls = append(calls, strings.Fields(f.words))
		}
	}
	return calls
}

// sets reports whether an argument is KeepTTL, or a struct with a field that surely is not zero.
func (r *reader) sets(arg ast.Expr, field string) bool {
	if n, known := r.eval.Int(arg); known {
		return n == -1 && field == "KeepTTL"
	}
	value, known := r.fieldOf(arg, field)
	if !known || value == nil {
		return false
	}
	switch v := r.pass.TypesInfo.Types[value].Value; {
	case v == nil:
		return true
	case v.Kind() == constant.Bool:
		return constant.BoolVal(v)
	case v.Kind() == constant.String:
		return constant.StringVal(v) != ""
	default:
		return constant.Sign(v) != 0
	}
}
