package resp

import "strconv"

// AppendStatus appends a simple string. Line breaks in s become spaces: they
// would end the reply early.
func AppendStatus(dst []byte, s string) []byte { return appendLine(append(dst, '+'), s) }

// AppendError appends an error. text starts with its code, as in "ERR no".
func AppendError(dst []byte, text string) []byte { return appendLine(append(dst, '-'), text) }

// AppendInt appends an integer.
func AppendInt(dst []byte, n int64) []byte {
	return append(strconv.AppendInt(append(dst, ':'), n, 10), '\r', '\n')
}

// AppendBulk appends a bulk string. s may hold any bytes.
func AppendBulk(dst []byte, s string) []byte {
	dst = strconv.AppendInt(append(dst, '$'), int64(len(s)), 10)
	dst = append(dst, '\r', '\n')
	dst = append(dst, s...)
	return append(dst, '\r', '\n')
}

// AppendNil appends the nil bulk string.
func AppendNil(dst []byte) []byte { return append(dst, "$-1\r\n"...) }

// AppendArray appends the head of an array; its n elements follow.
func AppendArray(dst []byte, n int) []byte {
	return append(strconv.AppendInt(append(dst, '*'), int64(n), 10), '\r', '\n')
}

// AppendCommand appends a command as a client sends it.
func AppendCommand(dst []byte, args ...string) []byte {
	dst = AppendArray(dst, len(args))
	for _, a := range args {
		dst = AppendBulk(dst, a)
	}
	return dst
}

func appendLine(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c == '\r' || c == '\n' {
			dst = append(dst, ' ')
		} else {
			dst = append(dst, c)
		}
	}
	return append(dst, '\r', '\n')
}
