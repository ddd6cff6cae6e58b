// Package resp reads and writes the Redis wire protocol, as little of it as a
// proxy needs: one command in, one raw reply through, and the helpers to
// answer without a server.
//
// It is made for input that may be hostile or cut at any byte. Bad input is a
// [ProtocolError], never a panic; a length is only believed as far as bytes
// have arrived, so "$536870912" alone allocates nothing worth mentioning.
//
// Commands are RESP2 (arrays of bulk strings, or inline words). Replies may be
// of any RESP2 type; the RESP3 types are passed through as well, so that a
// transparent relay does not have to care what was negotiated.
//
// Nothing here is safe for concurrent use of one reader or one buffer, and
// nothing keeps state between calls.
package resp

import (
	"errors"
	"fmt"
)

// ErrProtocol is what every [ProtocolError] Is.
var ErrProtocol = errors.New("resp: protocol error")

// ProtocolError says what was wrong with the bytes. The connection they came
// from cannot be used any more: where the next command starts is unknown.
type ProtocolError struct{ Text string }

func (e *ProtocolError) Error() string { return "resp: protocol error: " + e.Text }

// Is makes errors.Is(err, ErrProtocol) true.
func (e *ProtocolError) Is(target error) bool { return target == ErrProtocol }

func bad(format string, args ...any) error {
	return &ProtocolError{Text: fmt.Sprintf(format, args...)}
}

// Limits bound what one command or one reply may cost. The zero value means
// the limits of Redis itself.
type Limits struct {
	Args  int // arguments of a command, elements of a reply; 0: 1048576
	Bulk  int // bytes of one bulk string; 0: 512 MiB
	Line  int // bytes of a line: an inline command, a status, an error, a length; 0: 64 KiB
	Total int // bytes of one whole command or reply; 0: 1 GiB
}

func (l Limits) withDefaults() Limits {
	if l.Args <= 0 {
		l.Args = 1 << 20
	}
	if l.Bulk <= 0 {
		l.Bulk = 512 << 20
	}
	if l.Line <= 0 {
		l.Line = 64 << 10
	}
	if l.Total <= 0 {
		l.Total = 1 << 30
	}
	return l
}

// number parses the decimal after a type byte: at most 18 digits, an optional
// minus, nothing else. It does not allocate.
func number(b []byte) (int, bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

// show quotes at most 32 bytes of hostile input for an error text.
func show(b []byte) string {
	const limit = 32
	if len(b) > limit {
		return fmt.Sprintf("%q…", b[:limit])
	}
	return fmt.Sprintf("%q", b)
}
