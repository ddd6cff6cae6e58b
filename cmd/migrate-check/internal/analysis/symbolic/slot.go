package symbolic

import (
	"fmt"
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// Proof is what can be said of the slots of two keys.
type Proof uint8

// The proofs.
const (
	// Unproven: it depends on the symbols, or on what is not known of them.
	Unproven Proof = iota
	// Together: they are in one slot, whatever the symbols are.
	Together
	// Apart: they are in two slots, whatever the symbols are.
	Apart
)

// Compare tells by the proxy's own rule whether two keys are in one slot. Where that does not
// count an empty hash tag, a symbol is taken to be no empty text, and to have no braces.
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
	return Unproven // which server has which key is the proxy's own business
}

// rule is how a proxy finds the slot of a key.
type rule struct {
	single bool // there is one server
	tags   bool // what is in braces counts
	empty  bool // also if there is nothing in them
}

func ruleOf(p *proxycompat.Profile) rule {
	const tagged = "a{b}c"
	return rule{single: p.Hash() == "none", tags: p.Tag(tagged) == "b", empty: p.Tag("{}c") == ""}
}

// hashed is the part of a key that the slot is found by.
type hashed struct {
	text   Value
	tagged bool
	sure   bool // it is this part, whatever the symbols are
}

// key is one with this part, which is known.
func (h hashed) key(text string) string {
	if h.tagged {
		return "{" + text + "}"
	}
	return text
}

// hashed finds the tag of a key, or that it has none.
func (r rule) hashed(key Value) hashed {
	if !r.tags {
		return hashed{text: key, sure: true}
	}
	for i, p := range key {
		if p.Symbol() {
			if !p.Plain {
				return hashed{} // there may be braces in it
			}
			continue
		}
		open := strings.IndexByte(p.Text, '{')
		if open < 0 {
			continue
		}
		tag, closed := closing(Concat(Constant(p.Text[open+1:]), key[i+1:]))
		switch {
		case closed && len(tag) == 0 && !r.empty:
			return hashed{text: key, sure: true}
		case closed:
			return hashed{text: tag, tagged: true, sure: true}
		}
		for _, rest := range key[i+1:] {
			if rest.Symbol() && !rest.Plain {
				return hashed{} // the brace that shuts it may be in there
			}
		}
		break
	}
	return hashed{text: key, sure: true}
}

// closing is what comes before the first brace that is shut.
func closing(v Value) (tag Value, closed bool) {
	for i, p := range v {
		if p.Symbol() {
			continue
		}
		if shut := strings.IndexByte(p.Text, '}'); shut >= 0 {
			return Concat(v[:i], Constant(p.Text[:shut])), true
		}
	}
	return nil, false
}

// sharedTag reports whether two keys begin alike, and both braces of a tag are in there.
func sharedTag(a, b Value, r rule) bool {
	same := common(a, b)
	for i, p := range same {
		if p.Symbol() {
			continue
		}
		open := strings.IndexByte(p.Text, '{')
		if open < 0 {
			continue
		}
		tag, closed := closing(Concat(Constant(p.Text[open+1:]), same[i+1:]))
		return closed && (r.empty || len(tag) > 0)
	}
	return false
}

// common is how two values begin alike.
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

// Explain says in short why two keys are not known to be in one slot, or why they are not.
func Explain(p *proxycompat.Profile, a, b Value) string {
	keys := fmt.Sprintf("keys %s and %s", brief(a), brief(b))
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

// brief is a value in a message.
func brief(v Value) string {
	const limit = 60
	s := []rune(v.String())
	if len(s) > limit {
		return string(s[:limit]) + "…"
	}
	return string(s)
}
