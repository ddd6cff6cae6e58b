package symbolic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// Proof is a statement on the slots of two keys.
type Proof uint8

// The proofs.
const (
	// Unproven: it depends on the texts of the symbols.
	Unproven Proof = iota
	// Together: they share a slot for all texts of the symbols.
	Together
	// Apart: they have different slots for all texts of the symbols.
	Apart
)

// Compare applies the proxy's hash rule to two keys. If the rule ignores an empty hash tag, a symbol counts as a
// non-empty text without braces.
func Compare(p *proxycompat.Profile, a, b Value) Proof {
	if a.Equal(b) {
		return Together
	}
	rule := ruleOf(p)
	if rule.single {
		return Together
	}
	x, y := rule.hashed(a), rule.hashed(b)
	if rule.tags && sharedTag(a, b, rule) {
		return Together
	}
	if !x.sure || !y.sure {
		return Unproven
	}
	if x.text.Equal(y.text) {
		return Together
	}
	first, ok1 := x.text.Known()
	second, ok2 := y.text.Known()
	switch {
	case !ok1 || !ok2:
		return Unproven
	case p.SameSlot(x.key(first), y.key(second)):
		return Together
	case p.Slots() > 0:
		return Apart
	}
	return Unproven // the profile does not assign keys to servers
}

// rule is the hash rule of a proxy.
type rule struct {
	single bool // there is one server
	tags   bool // only the text in the first braces counts
	empty  bool // an empty text counts, too
}

func ruleOf(p *proxycompat.Profile) rule {
	const tagged = "a{b}c"
	return rule{single: p.Hash() == "none", tags: p.Tag(tagged) == "b", empty: p.Tag("{}c") == ""}
}

// hashed is the part of a key that the rule hashes.
type hashed struct {
	text   Value
	tagged bool
	sure   bool // for all texts of the symbols
}

// key returns a key with a given text as this part.
func (h hashed) key(text string) string {
	if h.tagged {
		return "{" + text + "}"
	}
	return text
}

// hashed finds the hash tag of a key, or takes all of it.
func (r rule) hashed(key Value) hashed {
	if !r.tags {
		return hashed{text: key, sure: true}
	}
	before, rest, opened := cut(key, '{')
	if !before.plain() {
		return hashed{} // a symbol may have braces
	}
	if opened {
		tag, _, closed := cut(rest, '}')
		switch {
		case closed && (len(tag) > 0 || r.empty):
			return hashed{text: tag, tagged: true, sure: true}
		case !closed && !rest.plain():
			return hashed{} // a symbol may have the closing brace
		}
	}
	return hashed{text: key, sure: true}
}

// cut cuts a value around the first sign in a constant. Without one, before is all of the value.
func cut(v Value, sign byte) (before, behind Value, found bool) {
	for i, p := range v {
		if at := strings.IndexByte(p.Text, sign); at >= 0 && !p.Symbol() {
			return Concat(v[:i], Constant(p.Text[:at])), Concat(Constant(p.Text[at+1:]), v[i+1:]), true
		}
	}
	return v, nil, false
}

// plain reports whether no symbol of a value has a brace.
func (v Value) plain() bool {
	return !slices.ContainsFunc(v, func(p Part) bool { return p.Symbol() && !p.Plain })
}

// sharedTag reports whether the common prefix of two keys has both braces of a tag.
func sharedTag(a, b Value, r rule) bool {
	_, rest, _ := cut(common(a, b), '{')
	tag, _, closed := cut(rest, '}')
	return closed && (r.empty || len(tag) > 0)
}

// common returns the common prefix of two values.
func common(a, b Value) (same Value) {
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i].same(b[i]) {
			same = append(same, a[i])
			continue
		}
		if a[i].Symbol() || b[i].Symbol() {
			break
		}
		n := 0
		for n < len(a[i].Text) && n < len(b[i].Text) && a[i].Text[n] == b[i].Text[n] {
			n++
		}
		return Concat(same, Constant(a[i].Text[:n]))
	}
	return same
}

// Explain gives the reason for the Proof of two keys.
func Explain(p *proxycompat.Profile, a, b Value) string {
	keys := fmt.Sprintf("keys %s and %s", a.Brief(60), b.Brief(60))
	r := ruleOf(p)
	x, y := r.hashed(a), r.hashed(b)
	switch Compare(p, a, b) {
	case Together:
		return keys + " are in one slot"
	case Apart:
		first, _ := x.text.Known()
		second, _ := y.text.Known()
		return fmt.Sprintf("%s are in different slots, %d and %d", keys, p.Slot(x.key(first)), p.Slot(y.key(second)))
	}
	switch {
	case !r.tags:
		return keys + " are different, and no hash tag is configured"
	case x.sure && y.sure && x.tagged && y.tagged:
		return keys + " have different hash tags"
	case x.sure && x.tagged != y.tagged && y.sure:
		return keys + " have not both a hash tag"
	}
	return keys + " share no hash tag"
}

// Brief formats a value in at most limit characters and an ellipsis.
func (v Value) Brief(limit int) string {
	s := []rune(v.String())
	if len(s) > limit {
		return string(s[:limit]) + "…"
	}
	return string(s)
}
