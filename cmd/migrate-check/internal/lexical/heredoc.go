package lexical

import "strings"

// heredoc is a string of Ruby. Its body follows the line.
type heredoc struct {
	token int
	id    string
	holes bool
}

// endOfHeredoc returns where the body ends, and where the code goes on: behind the word that
// closes it.
func endOfHeredoc(src string, body int, id string, within bool) (end, next int) {
	for at := body; at < len(src); {
		line := src[at:]
		if n := strings.IndexByte(line, '\n'); n >= 0 {
			line = line[:n]
		}
		trimmed := strings.TrimLeft(line, " \t")
		rest, ok := strings.CutPrefix(trimmed, id)
		if ok && (rest == "" || rest == "\r" || within && !part(rest[0])) {
			return at, at + len(line) - len(rest)
		}
		at += len(line) + 1
	}
	return len(src), len(src)
}

// bodies skips the texts that begin on this line.
func (l *lexer) bodies() {
	for _, h := range l.pending {
		end, next := endOfHeredoc(l.src, l.i, h.id, false)
		l.out[h.token].text = l.src[min(l.i, end):end]
		l.out[h.token].holed = h.holes && strings.Contains(l.out[h.token].text, "#{")
		l.i = next
	}
	l.pending = nil
}

// rubyString reads the strings, symbols and regular expressions of Ruby.
func (l *lexer) rubyString() bool {
	c := l.src[l.i]
	switch {
	case c == '"' || c == '`':
		return l.quoted(1, quotes{end: string(c), escapes: true, hole: "#{", lines: true})
	case c == '?' && !l.ends() && l.peek(1) > ' ' && l.peek(1) < 0x80 && l.peek(1) != '\\' && !part(l.peek(2)): // one letter
		l.i += 2
		l.add(text, l.src[l.i-1:l.i], l.i-2)
		return true
	case c == '\'':
		return l.quoted(1, quotes{end: "'", escapes: true, lines: true})
	case c == ':' && l.peek(1) == '"' && !l.ends():
		return l.quoted(2, quotes{end: `"`, escapes: true, hole: "#{", lines: true})
	case c == ':' && begins(l.peek(1)) && (l.i == 0 || l.src[l.i-1] != ':'):
		return l.symbol()
	case c == '/':
		if l.ends() && !(l.last().kind == word && l.space && l.peek(1) != ' ') {
			return false
		}
		return l.regex()
	case c == '%':
		return l.percent()
	case l.has("<<"):
		return l.rubyHeredoc()
	}
	return false
}

func (l *lexer) symbol() bool {
	start := l.i
	for l.i++; l.i < len(l.src) && part(l.src[l.i]); l.i++ {
	}
	l.add(text, l.src[start+1:l.i], start)
	return true
}

// percent reads %q(…), %w[…] and their like.
func (l *lexer) percent() bool {
	if l.ends() && !(l.last().kind == word && l.space && l.peek(1) != ' ' && l.peek(1) != '=') {
		return false
	}
	n := 1
	kind := byte('Q')
	if strings.IndexByte("qQwWiIrxs", l.peek(1)) >= 0 && l.peek(1) != 0 {
		kind = l.peek(1)
		n = 2
	}
	begin := l.peek(n)
	if begin == 0 || begin <= ' ' || part(begin) {
		return false
	}
	end := string(begin)
	if i := strings.IndexByte("([{<", begin); i >= 0 {
		end = ")]}>"[i : i+1]
	}
	hole := ""
	if kind == 'Q' || kind == 'W' || kind == 'I' || kind == 'r' || kind == 'x' {
		hole = "#{"
	}
	return l.quoted(n+1, quotes{end: end, escapes: true, hole: hole, lines: true})
}

// rubyHeredoc reads <<~X, <<-X, <<X, also with quotes around X.
func (l *lexer) rubyHeredoc() bool {
	i := l.i + 2
	if i < len(l.src) && (l.src[i] == '~' || l.src[i] == '-') {
		i++
	} else if l.ends() {
		return false
	}
	quote := byte(0)
	if i < len(l.src) && (l.src[i] == '"' || l.src[i] == '\'') {
		quote = l.src[i]
		i++
	}
	from := i
	for i < len(l.src) && part(l.src[i]) {
		i++
	}
	id := l.src[from:i]
	if id == "" || quote == 0 && (id[0] < 'A' || id[0] > 'Z') && id[0] != '_' {
		return false
	}
	if quote != 0 {
		if i >= len(l.src) || l.src[i] != quote {
			return false
		}
		i++
	}
	l.pending = append(l.pending, heredoc{token: len(l.out), id: id, holes: quote != '\''})
	l.add(text, "", l.i)
	l.i = i
	return true
}
