package symbolic

import (
	"fmt"
	"strconv"
	"strings"
)

// Value is a concatenation of constants, and of symbols with unknown texts. The zero Value is the empty text.
type Value []Part

// Part is one part of a [Value].
type Part struct {
	Text string // of a constant
	Root any    // the origin of a symbol, comparable; nil for a constant
	Path string // the way from there, such as ".ID"
	// Plain marks a symbol that never has a brace, as the digits of a number.
	Plain bool
	Label string // the expression of a symbol
}

// Constant returns the Value of a known text.
func Constant(text string) Value {
	if text == "" {
		return nil
	}
	return Value{{Text: text}}
}

// Symbol reports whether the part is a symbol.
func (p Part) Symbol() bool { return p.Root != nil }

// same reports whether two parts always have the same text.
func (p Part) same(q Part) bool {
	return p.Symbol() == q.Symbol() && p.Text == q.Text && p.Root == q.Root && p.Path == q.Path
}

// then appends a value.
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

// Concat concatenates values.
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

// Equal reports whether two values have the same parts, and so always the same text.
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

// String formats a value as code: "user:"+id.
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

// identity identifies a value, as the root of a symbol.
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

// through is the result of a pure function of a value.
func (v Value) through(path, label string, plain bool) Value {
	if len(v) == 1 && v[0].Symbol() {
		return Value{{Root: v[0].Root, Path: v[0].Path + path, Plain: plain, Label: label}}
	}
	return Value{{Root: v.identity(), Path: path, Plain: plain, Label: label}}
}
