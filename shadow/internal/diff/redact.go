package diff

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// maxShown is how many characters of a value are shown where the Rules permit it.
const maxShown = 64

// Redactor makes tokens of values: the same token for the same value, as long as the key
// is the same. Without the key nobody can find a value by trying, which with a mere
// digest of a phone number takes seconds. It is safe for concurrent use.
type Redactor struct{ key []byte }

// NewRedactor returns a Redactor by that secret key, or by a random one if it is empty.
// Processes whose tokens shall be comparable need the same key.
func NewRedactor(key []byte) *Redactor {
	if len(key) == 0 {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails
	}
	return &Redactor{key: append([]byte(nil), key...)}
}

// Token shows a Leaf as what it is, how long, and by 32 bits of an HMAC-SHA-256:
// "string(12)#a1b2c3d4", "number#0f3e9a77", "array(3)#5c21d0ee". Those bits are of what
// counts of it, so 1 and 1.0 have the same.
//
// Whatever is no secret is shown: absent, null, true, false, 0, "" and "0", since to take
// one of them for another is the most common mistake. So are scalars and bytes for which
// Rules.Show says so, up to 64 characters.
func (r *Redactor) Token(l Leaf) string {
	n, at := l.get()
	switch n.kind {
	case absent, null, falseWord, trueWord:
		return n.kind.String()
	case number:
		if decimal(n.text) == "0" {
			return "0"
		}
		if at.shown() {
			return shorten(n.text)
		}
	case text, plainBytes:
		if n.text == "" || n.text == "0" || at.shown() {
			return shown(n.text)
		}
	}
	return l.String() + "#" + r.mac(appendCanonical(nil, n, at))
}

// Path shows where a Difference is, with indexes. Names that are data are tokens:
// "members[17].unread.{#a1b2c3d4}".
func (r *Redactor) Path(d Difference) string {
	if d.path == nil {
		return d.Template
	}
	return render(**d.path, func(h hop) string {
		switch {
		case h.element:
			return h.indexed()
		case h.hidden():
			return "{#" + r.mac([]byte("name:"+h.name)) + "}"
		}
		return h.name
	})
}

// Text makes a token of any text, like a key's name: "string(12)#a1b2c3d4". It is the one
// of the same text in a document.
func (r *Redactor) Text(s string) string { return r.Token(leafOf(&node{kind: text, text: s}, nil)) }

func (r *Redactor) mac(data []byte) string {
	h := hmac.New(sha256.New, r.key)
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil)[:4])
}

// shown quotes a text, so that nothing in it can be mistaken for the report's own words,
// or move the terminal's cursor.
func shown(s string) string {
	short, rest := cut(s)
	return strconv.Quote(short) + rest
}

// shorten is for numbers, which need no quotes.
func shorten(s string) string {
	short, rest := cut(s)
	return short + rest
}

// cut returns the first characters, and an ellipsis if there are more.
func cut(s string) (short, rest string) {
	n := 0
	for i := range s {
		if n++; n > maxShown {
			return s[:i], ellipsis
		}
	}
	return s, ""
}
