package resp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
)

// ReadCommand reads one command. It skips empty lines and empty arrays, as Redis does. Inline words are
// split at white space; the quoting rules of redis-cli are not supported.
//
// io.EOF means that the peer closed between two commands, io.ErrUnexpectedEOF that it closed inside one.
// Malformed bytes and exceeded limits are a [ProtocolError]. Other errors come from the reader.
func ReadCommand(r *bufio.Reader, lim Limits) ([]string, error) {
	lim = lim.withDefaults()
	for {
		line, err := readLine(r, lim.Line)
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			continue
		}
		if line[0] != '*' {
			if words := bytes.Fields(line); len(words) > 0 {
				return Strings(words), nil
			}
			continue
		}
		n, ok := number(line[1:])
		if !ok || n > lim.Args {
			return nil, bad("bad number of arguments %s", show(line))
		}
		if n <= 0 {
			continue
		}
		args, err := readBulks(r, n, lim)
		return args, inside(err)
	}
}

func readBulks(r *bufio.Reader, n int, lim Limits) ([]string, error) {
	args := make([]string, 0, min(n, 64))
	total := 0
	var buf []byte
	for range n {
		line, err := readLine(r, lim.Line)
		if err != nil {
			return nil, err
		}
		if len(line) == 0 || line[0] != '$' {
			return nil, bad("expected '$', got %s", show(line))
		}
		size, ok := number(line[1:])
		if !ok || size < 0 || size > lim.Bulk {
			return nil, bad("bad bulk length %s", show(line))
		}
		if total += size; total > lim.Total {
			return nil, bad("command is larger than %d bytes", lim.Total)
		}
		if buf, err = appendExactly(buf[:0], r, size+2); err != nil {
			return nil, err
		}
		if !bytes.HasSuffix(buf, crlf()) {
			return nil, bad("bulk string does not end with CRLF")
		}
		args = append(args, string(buf[:size]))
		if cap(buf) > 1<<20 { // so that one large argument does not keep a large buffer alive
			buf = nil
		}
	}
	return args, nil
}

// ScanCommand parses the command at the start of buf. It returns its length in bytes and its arguments,
// which alias buf and reuse the array of args. n == 0 with a nil error means that the command is
// incomplete.
//
// Unlike [ReadCommand] it consumes nothing and never blocks, as a filter of outgoing bytes requires. A
// command without arguments (an empty line, an empty array) gives n > 0 and no arguments.
func ScanCommand(buf []byte, args [][]byte, lim Limits) (n int, out [][]byte, err error) {
	lim = lim.withDefaults()
	out = args[:0]
	line, pos, err := scanLine(buf, 0, lim.Line)
	if err != nil || pos == 0 {
		return 0, out, err
	}
	if len(line) == 0 || line[0] != '*' {
		return pos, append(out, bytes.Fields(line)...), nil
	}
	count, ok := number(line[1:])
	if !ok || count > lim.Args {
		return 0, out, bad("bad number of arguments %s", show(line))
	}
	for range count {
		line, next, err := scanLine(buf, pos, lim.Line)
		if err != nil || next == 0 {
			return 0, out, err
		}
		if len(line) == 0 || line[0] != '$' {
			return 0, out, bad("expected '$', got %s", show(line))
		}
		size, ok := number(line[1:])
		if !ok || size < 0 || size > lim.Bulk {
			return 0, out, bad("bad bulk length %s", show(line))
		}
		pos = next + size + 2
		if pos > lim.Total {
			return 0, out, bad("command is larger than %d bytes", lim.Total)
		}
		if pos > len(buf) {
			return 0, out, nil
		}
		if buf[pos-2] != '\r' || buf[pos-1] != '\n' {
			return 0, out, bad("bulk string does not end with CRLF")
		}
		out = append(out, buf[next:pos-2])
	}
	return pos, out, nil
}

// scanLine returns the line at buf[pos:] without its ending and the position after it; next == 0 when the
// line is not complete.
func scanLine(buf []byte, pos, limit int) (line []byte, next int, err error) {
	rest := buf[pos:]
	i := bytes.IndexByte(rest[:min(len(rest), limit)], '\n')
	if i < 0 {
		if len(rest) >= limit {
			return nil, 0, bad("line is longer than %d bytes", limit)
		}
		return nil, 0, nil
	}
	return bytes.TrimSuffix(rest[:i], []byte{'\r'}), pos + i + 1, nil
}

// readLine returns the next line without its CRLF (or LF). The slice is valid
// until the next read.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err == nil && len(line) <= limit {
		return trimEnding(line), nil
	}
	var long []byte
	for errors.Is(err, bufio.ErrBufferFull) && len(long)+len(line) <= limit {
		long = append(long, line...)
		line, err = r.ReadSlice('\n')
	}
	switch {
	case len(long)+len(line) > limit:
		return nil, bad("line is longer than %d bytes", limit)
	case err == io.EOF && len(long)+len(line) > 0:
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	}
	return trimEnding(append(long, line...)), nil
}

func trimEnding(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'})
}

// appendExactly appends n bytes of r to dst. It grows dst only as bytes arrive: a peer that announces half
// a gigabyte and sends nothing costs 32 KiB.
func appendExactly(dst []byte, r *bufio.Reader, n int) ([]byte, error) {
	const step = 32 << 10
	for n > 0 {
		chunk := min(n, step)
		at := len(dst)
		dst = slices.Grow(dst, chunk)[:at+chunk]
		if _, err := io.ReadFull(r, dst[at:]); err != nil {
			return dst[:at], err
		}
		n -= chunk
	}
	return dst, nil
}

func inside(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func crlf() []byte { return []byte("\r\n") }

// Strings copies the words of a command.
func Strings(words [][]byte) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return out
}
