// Package resp speaks the Redis wire protocol, for both sides: a proxy reads commands, relays raw replies and
// builds replies; a [Conn] sends commands, and nothing else.
//
// It accepts input that may be hostile or cut at any byte. Malformed input is a [ProtocolError], never a
// panic. It allocates memory only for bytes that have arrived, so "$536870912" alone allocates almost
// nothing.
//
// Commands are RESP2 (arrays of bulk strings, or inline words). Replies may have any RESP2 or RESP3 type,
// so that a transparent relay need not track the negotiated version.
//
// A reader, buffer or Conn is not safe for concurrent use.
package resp

import (
	"errors"
	"fmt"
)

// ErrProtocol matches every [ProtocolError] by errors.Is.
var ErrProtocol = errors.New("resp: protocol error")

// ProtocolError describes malformed bytes. Their connection is unusable, since the start of the next
// command is unknown.
type ProtocolError struct {
	Text string
	// First has the first bytes that a [Conn] has received, if they begin no reply.
	First string
}

func (e *ProtocolError) Error() string { return "resp: protocol error: " + e.Text }

// Is makes errors.Is(err, ErrProtocol) true.
func (e *ProtocolError) Is(target error) bool { return target == ErrProtocol }

func bad(format string, args ...any) error {
	return &ProtocolError{Text: fmt.Sprintf(format, args...)}
}

// Limits bound the cost of one command or reply. The zero value means the limits of Redis itself.
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

// number parses the decimal after a type byte: at most 18 digits, an optional minus, nothing else. It does
// not allocate.
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
