package diff

import (
	"strconv"
	"strings"
)

// maxLevels is where a template ends, maxNames how many fields an object may have before
// it is a map, and maxName how long a name may be before it is data.
const (
	maxLevels = 16
	maxNames  = 64
	maxName   = 32
)

const ellipsis = "…"

// hop is one hop of a path: to a field, or to an element.
type hop struct {
	name    string
	data    bool // the name belongs to a user, not to a programmer
	element bool
	index   int // of an element; -1 in a set, where it means nothing
}

// template renders the path without anything that is a user's.
func template(path []hop) string {
	return render(path, func(h hop) string {
		switch {
		case h.element:
			return "[]"
		case h.hidden():
			return "*"
		}
		return h.name
	})
}

func (h hop) hidden() bool { return h.data || looksLikeData(h.name) }

func render(path []hop, show func(hop) string) string {
	var b strings.Builder
	for i, h := range path {
		if !h.element && i > 0 {
			b.WriteByte('.')
		}
		if i == maxLevels {
			b.WriteString(ellipsis)
			break
		}
		b.WriteString(show(h))
	}
	return b.String()
}

// indexed renders an element's hop.
func (h hop) indexed() string {
	if h.index < 0 {
		return "[]"
	}
	return "[" + strconv.Itoa(h.index) + "]"
}

// looksLikeData reports whether a field's name is more likely somebody's identity than a
// programmer's word. The package's description has the rule.
func looksLikeData(name string) bool {
	if name == "" || len(name) > maxName || isDigit(name[0]) || name[0] == '-' {
		return true
	}
	digits, hexRun, changes := 0, 0, 0
	for i := range len(name) {
		c := name[i]
		if !isDigit(c) && !isLetter(c) && c != '_' && c != '-' {
			return true
		}
		if isDigit(c) {
			digits++
		}
		if isHex(c) {
			hexRun++
		} else {
			hexRun = 0
		}
		if i > 0 && (isDigit(c) && isLetter(name[i-1]) || isLetter(c) && isDigit(name[i-1])) {
			changes++
		}
		if digits >= 4 || hexRun >= 8 || changes > 3 {
			return true
		}
	}
	return false
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isHex(c byte) bool    { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
