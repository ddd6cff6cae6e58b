package lexical

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxNest limits the nesting of strings with interpolations; deeper ones are text.
const maxNest = 40

// lexer takes a file apart. It looks at each byte a bounded number of times.
type lexer struct {
	lang    Language
	rules   *language
	src     string
	i       int
	nest    int
	out     []token
	nl      bool
	space   bool
	pending []heredoc // their bodies begin on the next line
	notes   []note    // the comments
	heads   []bool    // of the open ( in JavaScript: it is the head of an if or of a loop
	head    bool      // the last ) closed such a head: no operator follows
}

// lex takes a file apart.
func lex(lang Language, src string) *tokens {
	l := &lexer{lang: lang, rules: &languages[lang-1], src: src, nl: true}
	if l.has("\ufeff") { // the mark that editors of Windows put before a file
		l.i = len("\ufeff")
	}
	if lang == PHP {
		l.html()
	}
	l.code("")
	t := &tokens{all: l.out, notes: l.notes, lines: lineStarts(src)}
	t.pair()
	return t
}

func (l *lexer) add(k kind, s string, pos int) *token {
	l.out = append(l.out, token{kind: k, text: s, pos: pos, nl: l.nl, space: l.space})
	l.nl, l.space = false, false
	return &l.out[len(l.out)-1]
}

func (l *lexer) has(prefix string) bool { return strings.HasPrefix(l.src[l.i:], prefix) }

func (l *lexer) peek(n int) byte {
	if l.i+n < len(l.src) {
		return l.src[l.i+n]
	}
	return 0
}

// code reads code, up to the bracket that closes the interpolation it is in.
func (l *lexer) code(until string) {
	depth := 0
	for l.i < len(l.src) {
		c := l.src[l.i]
		start := l.i
		switch {
		case c == '\n':
			l.i++
			l.nl, l.space = true, true
			l.bodies()
		case c == ' ' || c == '\t' || c == '\r' || c == '\f':
			l.i++
			l.space = true
		case c == '\\' && (l.peek(1) == '\n' || l.has("\\\r\n")): // the line goes on
			l.i += 2
			if l.peek(-1) == '\r' {
				l.i++
			}
		case l.comment():
			l.notes = append(l.notes, note{start, l.i})
			l.space = true
		case l.lang == PHP && l.has("?>") && until == "":
			l.add(sign, ";", l.i)
			l.i += 2
			l.html()
		case l.str():
		case l.name():
		case c >= '0' && c <= '9':
			for l.i < len(l.src) && (part(l.src[l.i]) || l.src[l.i] == '.' && digit(l.peek(1))) {
				l.i++
			}
			l.add(num, l.src[start:l.i], start)
		case c == '(' || c == '[' || c == '{':
			depth++
			l.i++
			if c == '(' && l.lang == JS {
				before := l.last()
				l.heads = append(l.heads, before.kind == word && heading[before.text])
			}
			l.add(open, string(c), start)
		case c == ')' || c == ']' || c == '}':
			l.i++
			if n := len(l.heads); c == ')' && n > 0 {
				l.head, l.heads = l.heads[n-1], l.heads[:n-1]
			}
			l.add(clos, string(c), start)
			if depth == 0 && until == string(c) {
				return
			}
			depth = max(0, depth-1)
		default:
			l.operator()
		}
	}
}

// operators are those of several signs that mean something here.
var operators = []string{
	"...", "===", "!==", "**=", "<<=", ">>=", "||=", "&&=", "??=", "?->",
	"++", "--", "=>", "->", "::", "?.", "&.", "!!", "?:", "??", ":=", "==", "!=", "<=", ">=", "&&", "||",
	"+=", "-=", "*=", "/=", "|=", "|>", "<-", "<<",
}

func (l *lexer) operator() {
	for _, op := range operators {
		if l.has(op) {
			l.add(sign, op, l.i)
			l.i += len(op)
			return
		}
	}
	_, n := utf8.DecodeRuneInString(l.src[l.i:])
	l.add(sign, l.src[l.i:l.i+n], l.i)
	l.i += n
}

// comment skips one.
func (l *lexer) comment() bool {
	line := slices.ContainsFunc(l.rules.comments, l.has) && !(l.lang == PHP && l.has("#["))
	switch {
	case l.lang == Lua && l.has("--"):
		if begin := longBracket.FindString(l.src[l.i+2:]); begin != "" {
			l.skipTo(partners.Replace(begin))
			return true
		}
		l.skipLine()
	case l.lang == Ruby && l.nl && l.has("=begin"):
		l.skipTo("\n=end")
		l.skipLine()
	case l.lang == Ruby && l.nl && l.has("__END__"):
		l.i = len(l.src)
	case line, l.lang == CSharp && l.nl && l.src[l.i] == '#':
		l.skipLine()
	case l.rules.comments[0] == "//" && l.has("/*"):
		l.i += 2
		l.skipTo("*/")
	default:
		return false
	}
	return true
}

// skipLine skips the rest of the line; in PHP code may end within it.
func (l *lexer) skipLine() {
	line, _, _ := strings.Cut(l.src[l.i:], "\n")
	if l.lang == PHP {
		line, _, _ = strings.Cut(line, "?>")
	}
	l.i += len(line)
}

// skipTo skips up to the end of the next s, or all that is left.
func (l *lexer) skipTo(s string) {
	before, _, _ := strings.Cut(l.src[l.i:], s)
	l.i = min(l.i+len(before)+len(s), len(l.src))
}

// tag begins code of PHP; that of XML does not.
var tag = regexp.MustCompile(`<\?(?:php|=|\s)`)

// html skips text outside of PHP tags.
func (l *lexer) html() {
	at := tag.FindStringIndex(l.src[l.i:])
	if at == nil {
		l.i = len(l.src)
		return
	}
	l.i += at[1]
	l.nl = true
}

// name reads a name, with its sigil.
func (l *lexer) name() bool {
	start, i := l.i, l.i
	switch c := l.src[i]; {
	case l.lang == PHP && c == '$', l.lang == Ruby && (c == '@' || c == '$'):
		i++
		if i < len(l.src) && l.src[i] == '@' {
			i++
		}
		if i >= len(l.src) || !begins(l.src[i]) {
			return false
		}
	case c == '$' && l.lang != JS && l.lang != Java:
		return false
	case c == '#' && l.lang == JS && begins(l.peek(1)): // a private field
		i++
	case c == '@' && l.lang == CSharp && begins(l.peek(1)), c == '\\' && l.lang == PHP && begins(l.peek(1)):
		i++
		start++
	case !begins(c):
		return false
	}
	for i < len(l.src) && part(l.src[i]) {
		i++
	}
	if l.lang == Ruby && i < len(l.src) && (l.src[i] == '?' || l.src[i] == '!') && (i+1 == len(l.src) || l.src[i+1] != '=') {
		i++
	}
	if l.lang == PHP { // a name with its namespace
		for i+1 < len(l.src) && l.src[i] == '\\' && begins(l.src[i+1]) {
			for i++; i < len(l.src) && part(l.src[i]); i++ {
			}
		}
	}
	l.i = i
	l.add(word, l.src[start:i], start)
	return true
}

func begins(c byte) bool {
	return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}
func part(c byte) bool  { return begins(c) || digit(c) }
func digit(c byte) bool { return c >= '0' && c <= '9' }

// last is the token before, if it is on the same line or not.
func (l *lexer) last() token {
	if len(l.out) == 0 {
		return token{kind: endOf}
	}
	return l.out[len(l.out)-1]
}

// heading are the words behind which brackets have a condition in them.
var heading = map[string]bool{"if": true, "while": true, "for": true, "with": true}

// ends reports whether the last token can end an expression, so that an operator follows.
func (l *lexer) ends() bool {
	switch t := l.last(); t.kind {
	case num, text:
		return true
	case clos:
		return t.text != ")" || !l.head
	case sign: // an increment, and a < before the slash of a closing tag
		n := len(l.out) - 2
		return t.text == "<" && l.lang == JS ||
			(t.text == "++" || t.text == "--") && n >= 0 && !t.nl && (l.out[n].kind == word || l.out[n].kind == clos)
	case word:
		switch t.text {
		case "return", "typeof", "case", "in", "of", "do", "else", "void", "delete", "throw", "new", "await", "yield",
			"if", "unless", "while", "until", "when", "and", "or", "not", "then", "puts":
			return false
		}
		return true
	}
	return false
}
