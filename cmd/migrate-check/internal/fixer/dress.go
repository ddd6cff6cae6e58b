package fixer

import "bytes"

// What gofmt does not keep: the mark that some editors begin a file with, and how lines end.
var (
	mark = []byte("\ufeff")
	crlf = []byte("\r\n")
	lf   = []byte("\n")
)

// dressed gives a text the looks of another, so that only those lines change that have to.
func dressed(text, like []byte) []byte {
	if bytes.Contains(like, crlf) {
		text = bytes.ReplaceAll(text, lf, crlf)
	}
	if bytes.HasPrefix(like, mark) && !bytes.HasPrefix(text, mark) {
		text = append(bytes.Clone(mark), text...)
	}
	return text
}

// mixed reports whether some lines end with a carriage return, and others do not.
func mixed(text []byte) bool {
	n := bytes.Count(text, crlf)
	return n > 0 && n != bytes.Count(text, lf)
}
