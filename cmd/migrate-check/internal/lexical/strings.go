package lexical

import (
	"regexp"
	"strings"
)

// quotes describes a kind of string. Its opening is begin, or matches pattern.
type quotes struct {
	begin   string
	first   string         // the bytes that a match of pattern begins with
	pattern *regexp.Regexp // two groups: a prefix, and the opening quote
	end     string         // with pattern: the partner of the opening quote
	escapes bool           // a backslash escapes the next character
	doubled bool           // the closing quote twice is no end
	hole    string         // how an interpolation begins, if there is any
	lines   bool           // it may go over several lines
	raw     bool           // a bracket twice is none that is meant as a text
	whole   bool           // the second group is all of the string
	heredoc bool           // the second group ends the string, which begins on the next line
	regex   bool           // it is a regular expression
	operand bool           // it does not follow an operand
	// With unless, it may follow a word and a blank, as an argument of Ruby, unless one of these bytes is next.
	unless string
}

// opening compiles the pattern of quotes, in which P is a byte of a name.
func opening(pattern string) *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(pattern, "P", `[\w$\x{80}-\x{10ffff}]`))
}

// partners are the ends of opening quotes that are brackets.
var partners = strings.NewReplacer("(", ")", "[", "]", "{", "}", "<", ">")

// str reads a string or a regular expression.
func (l *lexer) str() bool {
	for _, q := range l.rules.strings {
		if !l.has(q.begin) || q.pattern != nil && strings.IndexByte(q.first, l.src[l.i]) < 0 {
			continue
		}
		argument := q.unless != "" && l.last().kind == word && l.space && strings.IndexByte(q.unless, l.peek(1)) < 0
		if (!q.operand || argument || !l.ends()) && l.opens(q) {
			return true
		}
	}
	return false
}

// opens reads a string, if its opening is here.
func (l *lexer) opens(q quotes) bool {
	switch {
	case q.regex:
		return l.regex()
	case q.pattern == nil:
		return l.quoted(len(q.begin), q)
	}
	at, m := l.i, q.pattern.FindStringSubmatch(l.src[l.i:])
	if m == nil {
		return false
	}
	prefix, quote := m[1], m[2]
	switch {
	case q.whole:
		l.i += len(prefix) + len(quote)
		l.add(text, quote, at)
		return true
	case q.heredoc:
		l.i += len(m[0])
		return l.heredoc(at, quote, q.hole)
	case q.raw: // as many brackets as dollars begin a value
		q.hole = strings.Repeat("{", strings.Count(prefix, "$"))
	case strings.ContainsAny(prefix, "fFtT$"):
		q.hole = "{"
	}
	if strings.Contains(prefix, "@") && !q.raw {
		q.escapes, q.doubled, q.lines = false, true, true
	}
	q.end = partners.Replace(quote)
	return l.quoted(len(m[0]), q)
}

// quoted reads a string. Its opening quote has this many bytes.
func (l *lexer) quoted(begin int, q quotes) bool {
	start := l.i
	at := len(l.out)
	l.add(text, "", start)
	l.i += begin
	var b strings.Builder
	from := l.i
	holed, closed := false, false
scan:
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
			closed = true
			break scan
		case c == '\n' && !q.lines: // it was none, or it is broken
			break scan
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
	b.WriteString(l.src[from:l.i])
	if closed {
		l.i += len(q.end)
	}
	l.out[at].text, l.out[at].holed = b.String(), holed || !closed
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

// heredoc is a string whose body follows the line.
type heredoc struct {
	token int
	id    string
	hole  string
}

// heredoc reads a string whose opening began at an offset. In PHP nothing else is on its line.
func (l *lexer) heredoc(at int, id, hole string) bool {
	line := strings.IndexByte(l.src[l.i:min(len(l.src), l.i+200)], '\n')
	if l.lang == PHP && line < 0 {
		l.i = at
		return false
	}
	l.pending = append(l.pending, heredoc{token: len(l.out), id: id, hole: hole})
	l.add(text, "", at)
	if l.lang == PHP {
		l.i += line + 1
		l.bodies()
	}
	return true
}

// bodies skips the texts that begin on this line.
func (l *lexer) bodies() {
	for _, h := range l.pending {
		end, next := endOfHeredoc(l.src, l.i, h.id, l.lang == PHP)
		tok := &l.out[h.token]
		tok.text = l.src[min(l.i, end):end]
		tok.holed = h.hole != "" && strings.Contains(tok.text, h.hole)
		l.i = next
	}
	l.pending = nil
}

// endOfHeredoc returns where the body ends, and where the code goes on: behind the word that
// closes it.
func endOfHeredoc(src string, body int, id string, within bool) (end, next int) {
	for at := body; at < len(src); {
		line, _, _ := strings.Cut(src[at:], "\n")
		trimmed := strings.TrimLeft(line, " \t")
		rest, ok := strings.CutPrefix(trimmed, id)
		if ok && (rest == "" || rest == "\r" || within && !part(rest[0])) {
			return at, at + len(line) - len(rest)
		}
		at += len(line) + 1
	}
	return len(src), len(src)
}
