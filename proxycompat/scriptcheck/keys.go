package scriptcheck

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/gopher-lua/ast"
)

const passIt = "pass the key with EVAL and use it as KEYS[1]"

// keys checks the keys of one command.
func (w *walker) keys(c *redisCall) {
	at, known := w.keysOf(c.words)
	if !known {
		w.add(c.line, CannotTell, quoted(c.name()), "", "neither Redis' command list nor the profile has it, so it is not known where its keys are")
		return
	}
	sure := true // no key is undeclared
	for _, i := range at {
		w.key(c, i)
		sure = sure && !c.undeclared(i)
	}
	if sure && slices.ContainsFunc(w.atMost(c), c.undeclared) {
		w.add(c.line, CannotTell, c.name(), "the number of keys as a literal",
			"how many keys it has cannot be told, and not all that may be keys are of KEYS")
	}
}

// atMost returns the indices of all possible keys if the key count is unknown; nil if the command has no
// key count.
func (w *walker) atMost(c *redisCall) []int {
	for i := 1; i < len(c.words) && i <= lastCount; i++ {
		if _, known := c.known(i); known {
			continue
		}
		words := slices.Clone(c.words)
		words[i] = "0"
		none, _ := w.keysOf(words)
		words[i] = strconv.Itoa(len(words))
		if all, _ := w.keysOf(words); len(all) != len(none) {
			return all
		}
	}
	return nil
}

// lastCount is the last index at which a command has its key count.
const lastCount = 3

func (c *redisCall) undeclared(i int) bool { return c.args.at(i).origin != declared }

// key checks word i, a key.
func (w *walker) key(c *redisCall, i int) {
	v := c.args.at(i)
	switch {
	case v.origin == declared:
		if w.literal && (i >= len(c.exprs) || !isOneOfKeys(c.exprs[i])) {
			w.add(c.line, LiteralKeys, c.name(), "KEYS[1], in each call", "the proxy reads the script and wants each key spelt so, else: "+
				"ERR bad lua script for redis cluster, all the keys that the script uses should be passed using the KEYS array, "+
				"and KEYS should not be in expression")
		}
	case v.origin.undeclared():
		w.add(c.line, UndeclaredKey, c.name(), passIt,
			"%s, not one of KEYS, so the proxy does not see it and it may belong to another server", describe(v))
	default:
		w.add(c.line, CannotTell, c.name(), "KEYS[1]", "whether its key is one of KEYS cannot be told")
	}
}

// describe names the origin of a value that is no declared key.
func describe(v value) string {
	switch v.origin {
	case literal:
		if len(v.texts) > 0 {
			return "its key is the literal " + quoted(v.texts[0])
		}
		return "its key may be a literal"
	case argument:
		return "its key may be out of ARGV"
	case reply:
		return "its key may have been read from Redis"
	}
	return "its key may be put together by the script"
}

func quoted(s string) string {
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	printable := func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}
	return "'" + strings.Map(printable, strings.ToValidUTF8(s, "?")) + "'"
}

// isOneOfKeys reports whether this is KEYS[n] with a literal n.
func isOneOfKeys(e ast.Expr) bool {
	get, ok := e.(*ast.AttrGetExpr)
	if !ok {
		return false
	}
	of, ok := get.Object.(*ast.IdentExpr)
	_, number := get.Key.(*ast.NumberExpr)
	return ok && number && of.Value == "KEYS"
}

const oneEach = "one key per script; a state that must change together belongs under one key"

// oneOfKeys records a use of KEYS[index].
func (w *walker) oneOfKeys(line int, index value) {
	if w.oneKey == "" {
		return
	}
	switch n, known := index.text(); {
	case known && n == "1":
	case known:
		w.add(line, SeveralKeys, "KEYS["+n+"]", oneEach, "%s", w.oneKey)
	default:
		w.allOfKeys(line)
	}
}

// allOfKeys records a loop over KEYS, or unpack(KEYS).
func (w *walker) allOfKeys(line int) {
	if w.oneKey != "" {
		w.add(line, SeveralKeys, "KEYS", oneEach, "takes any number of keys, and %s", w.oneKey)
	}
}
