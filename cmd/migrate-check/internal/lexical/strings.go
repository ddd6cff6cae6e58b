package lexical

import "strings"

// quotes describes a kind of string.
type quotes struct {
	begin   string // in the table of languages
	end     string
	escapes bool   // a backslash escapes the next character
	doubled bool   // the closing quote twice is no end
	hole    string // how an interpolation begins, if there is any
	lines   bool   // it may go over several lines
	raw     bool   // a bracket twice is none that is meant as a text
}

// str reads a string or a regular expression.
func (l *lexer) str() bool {
	switch l.lang {
	case Python:
		return l.pythonString()
	case Ruby:
		return l.rubyString()
	case CSharp:
		return l.csharpString()
	case Lua:
		if level := longBracket(l.src[l.i:]); level >= 0 {
			return l.quoted(level+2, quotes{end: "]" + strings.Repeat("=", level) + "]", lines: true})
		}
	}
	for _, q := range languages[l.lang-1].strings {
		if l.has(q.begin) {
			return l.quoted(len(q.begin), q)
		}
	}
	switch {
	case l.lang == JS && l.src[l.i] == '/':
		return !l.ends() && !(l.last().kind == sign && l.last().text == "<") && l.regex()
	case l.lang == PHP && l.has("<<<"):
		return l.phpHeredoc()
	}
	return false
}

// quoted reads a string. Its opening quote has this many bytes.
func (l *lexer) quoted(begin int, q quotes) bool {
	start := l.i
	at := len(l.out)
	l.add(text, "", start)
	l.i += begin
	var b strings.Builder
	from := l.i
	holed := false
	for l.i < len(l.src) {
		c := l.src[l.i]
		switch {
		case q.escapes && c == '\\':
			b.WriteString(l.src[from:l.i])
			if l.i+1 < len(l.src) {
				b.WriteString(unescape(l.src[l.i+1]))
			}
			l.i = min(l.i+2, len(l.src))
			from = l.i
		case l.has(q.end) && q.doubled && l.has(q.end+q.end):
			l.i += 2 * len(q.end)
		case l.has(q.end):
			b.WriteString(l.src[from:l.i])
			l.i += len(q.end)
			l.out[at].text, l.out[at].holed = b.String(), holed
			return true
		case c == '\n' && !q.lines: // it was none, or it is broken
			b.WriteString(l.src[from:l.i])
			l.out[at].text, l.out[at].holed = b.String(), true
			return true
		case q.hole == "{" && !q.raw && l.has("{{"):
			l.i += 2
		case q.hole != "" && l.has(q.hole) && l.nest < maxNest:
			b.WriteString(l.src[from:l.i])
			holed = true
			n := len(q.hole)
			if q.hole == "{$" {
				n = 1
			}
			l.add(open, "${", l.i)
			l.i += n
			l.nest++
			l.code("}")
			l.nest--
			from = l.i
		default:
			if c == '$' && (l.lang == Kotlin || l.lang == PHP) && q.hole != "" && begins(l.peek(1)) {
				holed = true
			}
			l.i++
		}
	}
	b.WriteString(l.src[min(from, len(l.src)):])
	l.out[at].text, l.out[at].holed = b.String(), true
	return true
}

func unescape(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case '\n', '\r':
		return ""
	}
	return string(rune(c))
}

// maxRegex limits the length of a regular expression, so that a long line with many slashes takes
// linear time.
const maxRegex = 1000

// regex reads a regular expression, if one ends on this line.
func (l *lexer) regex() bool {
	class := false
	for i := l.i + 1; i < len(l.src) && i < l.i+maxRegex; i++ {
		switch c := l.src[i]; {
		case c == '\n':
			return false
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			start := l.i
			for i++; i < len(l.src) && part(l.src[i]); i++ {
			}
			l.i = i
			l.add(text, "", start).holed = true
			return true
		}
	}
	return false
}

// pythonString reads a string with its prefix.
func (l *lexer) pythonString() bool {
	i, format := l.i, false
	for ; i < len(l.src) && i < l.i+3 && strings.IndexByte("rRbBuUfFtT", l.src[i]) >= 0; i++ {
		format = format || l.src[i]|32 == 'f' || l.src[i]|32 == 't'
	}
	if i >= len(l.src) || l.src[i] != '"' && l.src[i] != '\'' {
		return false
	}
	q := quotes{end: l.src[i : i+1], escapes: true}
	if strings.HasPrefix(l.src[i:], strings.Repeat(q.end, 3)) {
		q.end, q.lines = l.src[i:i+3], true
	}
	if format {
		q.hole = "{"
	}
	// Also in a raw string a backslash keeps a quote from ending it.
	return l.quoted(i-l.i+len(q.end), q)
}

// csharpString reads a string: plain, verbatim, interpolated or raw, or several of these.
func (l *lexer) csharpString() bool {
	i, verbatim, holes := l.i, false, 0
	for ; i < len(l.src) && i < l.i+4 && (l.src[i] == '@' || l.src[i] == '$'); i++ {
		if l.src[i] == '@' {
			verbatim = true
		} else {
			holes++
		}
	}
	if i >= len(l.src) || l.src[i] != '"' {
		if l.src[l.i] == '\'' {
			return l.quoted(1, quotes{end: "'", escapes: true})
		}
		return false
	}
	n := len(l.src[i:min(len(l.src), i+20)]) - len(strings.TrimLeft(l.src[i:min(len(l.src), i+20)], `"`))
	q := quotes{end: `"`, escapes: !verbatim, doubled: verbatim, lines: verbatim}
	if n >= 3 {
		q = quotes{end: l.src[i : i+n], lines: true, raw: true}
	}
	switch {
	case holes > 0 && q.raw: // as many brackets as dollars begin a value
		q.hole = strings.Repeat("{", holes)
	case holes > 0:
		q.hole = "{"
	}
	return l.quoted(i-l.i+len(q.end), q)
}

// longBracket is the level of Lua's [==[, or -1.
func longBracket(s string) int {
	if s == "" || s[0] != '[' {
		return -1
	}
	level := 0
	for level+1 < len(s) && s[level+1] == '=' {
		level++
		if level > 100 {
			return -1
		}
	}
	if level+1 < len(s) && s[level+1] == '[' {
		return level
	}
	return -1
}

// phpHeredoc reads <<<X, <<<"X" and <<<'X'.
func (l *lexer) phpHeredoc() bool {
	i := l.i + 3
	for i < len(l.src) && (l.src[i] == ' ' || l.src[i] == '"' || l.src[i] == '\'') {
		i++
	}
	from := i
	for i < len(l.src) && part(l.src[i]) {
		i++
	}
	id := l.src[from:i]
	line := strings.IndexByte(l.src[i:min(len(l.src), i+200)], '\n')
	if id == "" || line < 0 {
		return false
	}
	start := l.i
	body := i + line + 1
	end, next := endOfHeredoc(l.src, body, id, true)
	tok := l.add(text, l.src[body:end], start)
	tok.holed = l.src[from-1] != '\'' && strings.Contains(tok.text, "$")
	l.i = next
	return true
}
