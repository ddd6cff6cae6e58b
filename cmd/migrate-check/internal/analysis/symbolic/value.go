package symbolic

import (
	"fmt"
	"strconv"
	"strings"
)

// Value is what a text is made of: constants, and symbols whose texts are not known. The
// zero Value is the empty text.
type Value []Part

// Part is one part of a [Value].
type Part struct {
	Text string // of a constant
	Root any    // what a symbol comes from, nil for a constant; comparable
	Path string // how it is come by from there, such as ".ID"
	// Plain says that a symbol never has a brace in it, as the digits of a number.
	Plain bool
	Label string // how the code spells a symbol
}

// Constant makes a Value of a text.
func Constant(text string) Value {
	if text == "" {
		return nil
	}
	return Value{{Text: text}}
}

// Symbol reports whether it is one.
func (p Part) Symbol() bool { return p.Root != nil }

// same reports whether two parts have the same text, whenever both are there.
func (p Part) same(q Part) bool {
	return p.Symbol() == q.Symbol() && p.Text == q.Text && p.Root == q.Root && p.Path == q.Path
}

// then returns a value and what follows it.
func (v Value) then(w Value) Value {
	out := make(Value, 0, len(v)+len(w))
	for _, p := range append(append(out, v...), w...) {
		switch last := len(out) - 1; {
		case !p.Symbol() && p.Text == "":
		case !p.Symbol() && last >= 0 && !out[last].Symbol():
			out[last].Text += p.Text
		default:
			out = append(out, p)
		}
	}
	return out
}

// Concat puts values together.
func Concat(values ...Value) (out Value) {
	for _, v := range values {
		out = out.then(v)
	}
	return out
}

// Known returns the text of a value that has no symbols.
func (v Value) Known() (text string, known bool) {
	for _, p := range v {
		if p.Symbol() {
			return "", false
		}
		text += p.Text
	}
	return text, true
}

// Equal reports whether two values are made of the same: then they are the same text.
func (v Value) Equal(w Value) bool {
	if len(v) != len(w) {
		return false
	}
	for i := range v {
		if !v[i].same(w[i]) {
			return false
		}
	}
	return true
}

// String spells a value as code would: "user:"+id.
func (v Value) String() string {
	if len(v) == 0 {
		return `""`
	}
	parts := make([]string, len(v))
	for i, p := range v {
		switch {
		case p.Symbol():
			parts[i] = p.Label
		default:
			parts[i] = strconv.Quote(p.Text)
		}
	}
	return strings.Join(parts, "+")
}

// identity tells a value from all others, for symbols that are made of it.
func (v Value) identity() string {
	var b strings.Builder
	for _, p := range v {
		if p.Symbol() {
			fmt.Fprintf(&b, "<%T %v %p %s>", p.Root, p.Root, p.Root, p.Path)
		} else {
			fmt.Fprintf(&b, "%q", p.Text)
		}
	}
	return b.String()
}

// through is what a function of nothing but a value makes of it.
func (v Value) through(path, label string, plain bool) Value {
	if len(v) == 1 && v[0].Symbol() {
		return Value{{Root: v[0].Root, Path: v[0].Path + path, Plain: plain, Label: label}}
	}
	return Value{{Root: v.identity(), Path: path, Plain: plain, Label: label}}
}
