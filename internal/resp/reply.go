package resp

import (
	"bufio"
	"bytes"
	"strconv"
)

// Reply is one raw reply, from its type byte to its last CRLF.
type Reply []byte

// ReadReply appends one whole reply of any type to dst and returns it, so
// len(result)-len(dst) is its length on the wire. Errors are as for
// [ReadCommand]; on an error the bytes read so far are returned with it.
func ReadReply(dst []byte, r *bufio.Reader, lim Limits) (Reply, error) {
	lim = lim.withDefaults()
	start := len(dst)
	for need := 1; need > 0; need-- {
		line, err := readLine(r, lim.Line)
		if err != nil {
			if len(dst) > start {
				err = inside(err)
			}
			return dst, err
		}
		if len(line) == 0 {
			return dst, bad("empty reply line")
		}
		more, bulk, err := shape(line, lim)
		if err != nil {
			return dst, err
		}
		dst = append(append(dst, line...), '\r', '\n')
		if len(dst)-start+max(bulk, 0) > lim.Total {
			return dst, bad("reply is larger than %d bytes", lim.Total)
		}
		if bulk >= 0 {
			if dst, err = appendExactly(dst, r, bulk+2); err != nil {
				return dst, inside(err)
			}
			if !bytes.HasSuffix(dst, crlf()) {
				return dst, bad("bulk string does not end with CRLF")
			}
		}
		if need += more; need > lim.Args {
			return dst, bad("reply has more than %d elements", lim.Args)
		}
	}
	return dst, nil
}

// shape parses a reply's first line: it returns the number of replies that follow, and the size of the bulk
// that follows (-1: none).
func shape(line []byte, lim Limits) (more, bulk int, err error) {
	switch line[0] {
	case '+', '-', ':', '_', '#', ',', '(':
		return 0, -1, nil
	case '$', '=', '!':
		n, ok := number(line[1:])
		if !ok || n < -1 || n > lim.Bulk {
			return 0, 0, bad("bad bulk length %s", show(line))
		}
		return 0, n, nil
	case '*', '~', '>', '%', '|':
		n, ok := number(line[1:])
		if !ok || n < -1 || n > lim.Args {
			return 0, 0, bad("bad number of elements %s", show(line))
		}
		n = max(n, 0)
		switch line[0] {
		case '%':
			return 2 * n, -1, nil
		case '|': // an attribute precedes its reply
			return 2*n + 1, -1, nil
		}
		return n, -1, nil
	}
	return 0, 0, bad("unknown reply type %s", show(line[:1]))
}

// Kind returns the type of the reply: "status", "error", "integer", "bulk", "array", "nil", or the RESP3
// type byte, without content.
func (r Reply) Kind() string {
	if len(r) == 0 {
		return ""
	}
	switch r[0] {
	case '+':
		return "status"
	case '-':
		return "error"
	case ':':
		return "integer"
	case '$', '*':
		if bytes.HasPrefix(r[1:], []byte("-1\r\n")) {
			return "nil"
		}
		if r[0] == '*' {
			return "array"
		}
		return "bulk"
	case '_':
		return "nil"
	}
	return string(r[:1])
}

// ErrorText returns the text of an error reply.
func (r Reply) ErrorText() (string, bool) {
	if len(r) == 0 || r[0] != '-' {
		return "", false
	}
	return string(trimEnding(r[1:])), true
}

// Int returns the value of an integer reply.
func (r Reply) Int() (int64, bool) {
	if len(r) < 4 || r[0] != ':' {
		return 0, false
	}
	n, err := strconv.ParseInt(string(trimEnding(r[1:])), 10, 64)
	return n, err == nil
}

// Text returns the content of a status or bulk reply; ok is false for a nil reply.
func (r Reply) Text() (string, bool) {
	switch r.Kind() {
	case "status":
		return string(trimEnding(r[1:])), true
	case "bulk":
		line, next, err := scanLine(r, 0, len(r))
		if err != nil || next == 0 {
			return "", false
		}
		n, ok := number(line[1:])
		if !ok || n < 0 || next+n > len(r) {
			return "", false
		}
		return string(r[next : next+n]), true
	}
	return "", false
}

// Word returns a text as it is, a number in decimal, and "" for any other reply.
func (r Reply) Word() string {
	if text, ok := r.Text(); ok {
		return text
	}
	switch n, ok := r.Int(); {
	case ok:
		return strconv.FormatInt(n, 10)
	case len(r) > 0 && r[0] == ',': // a double of RESP3
		return string(trimEnding(r[1:]))
	}
	return ""
}

// Words returns the elements of an array reply, each by Word.
func (r Reply) Words() []string {
	elements, _ := r.List()
	out := make([]string, len(elements))
	for i, element := range elements {
		out[i] = element.Word()
	}
	return out
}

// Fields returns an array reply of alternating names and values.
func (r Reply) Fields() map[string]string {
	words, all := r.Words(), map[string]string{}
	for i := 0; i+1 < len(words); i += 2 {
		all[words[i]] = words[i+1]
	}
	return all
}

// Elements returns the number of elements of an array reply and their raw
// bytes, one after the other.
func (r Reply) Elements() (n int, raw []byte, ok bool) {
	if len(r) == 0 || r[0] != '*' {
		return 0, nil, false
	}
	line, next, err := scanLine(r, 0, len(r))
	if err != nil || next == 0 {
		return 0, nil, false
	}
	n, ok = number(line[1:])
	return n, r[next:], ok && n >= 0
}

// List returns the elements of an array reply. For a malformed one it returns those before the mistake.
func (r Reply) List() (elements []Reply, ok bool) {
	n, raw, ok := r.Elements()
	br := bufio.NewReader(bytes.NewReader(raw))
	for range n {
		element, err := ReadReply(nil, br, Limits{})
		if err != nil {
			return elements, false
		}
		elements = append(elements, element)
	}
	return elements, ok
}
