package live

import (
	"regexp"
	"strconv"
	"strings"
)

// MonitorLine is what MONITOR shows of one command. It has the values in it, and so is
// never kept.
type MonitorLine struct {
	Source string // HOST:PORT, "lua", or the path of a socket
	Args   []string
	Cut    bool // the line was longer than what is read of one
}

// ParseMonitorLine reads `1700000000.123456 [0 10.0.0.7:51234] "SET" "key" "value"`.
func ParseMonitorLine(line string) (MonitorLine, bool) {
	line = strings.TrimPrefix(strings.TrimRight(line, "\r\n"), "+")
	_, rest, ok := strings.Cut(line, " [")
	if !ok {
		return MonitorLine{}, false
	}
	// A path may have a bracket in it; the first word is in quotes.
	from, rest, ok := strings.Cut(rest, `] "`)
	if !ok {
		return MonitorLine{}, false
	}
	_, source, ok := strings.Cut(from, " ") // before it is the number of the database
	if !ok || source == "" {
		return MonitorLine{}, false
	}
	m := MonitorLine{Source: source}
	rest = `"` + rest
	for rest != "" {
		word, after, whole := unquote(rest)
		if !whole {
			m.Cut = true
			break
		}
		m.Args = append(m.Args, word)
		rest = strings.TrimLeft(after, " ")
	}
	return m, len(m.Args) > 0
}

// unquote reads a word as a server's sdscatrepr writes it.
func unquote(s string) (word, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return "", "", false
	}
	var out strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			return out.String(), s[i+1:], true
		case '\\':
			i++
			if i == len(s) {
				return "", "", false
			}
			switch s[i] {
			case 'n':
				out.WriteByte('\n')
			case 'r':
				out.WriteByte('\r')
			case 't':
				out.WriteByte('\t')
			case 'a':
				out.WriteByte('\a')
			case 'b':
				out.WriteByte('\b')
			case 'x':
				if i+2 >= len(s) {
					return "", "", false
				}
				b, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
				if err != nil {
					return "", "", false
				}
				out.WriteByte(byte(b))
				i += 2
			default:
				out.WriteByte(s[i])
			}
		default:
			out.WriteByte(c)
		}
	}
	return "", "", false
}

var (
	uuids   = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)
	hexes   = regexp.MustCompile(`[0-9a-fA-F]*[0-9][0-9a-fA-F]{7,}|[0-9a-fA-F]{16,}`)
	numbers = regexp.MustCompile(`[0-9]+`)
	mails   = regexp.MustCompile(`[^\s:{}/|]+@[^\s:{}/|]+`)
)

// maxPattern is how long a pattern may get: what is longer is no name that people gave.
const maxPattern = 80

// keyPattern is the form of a key, without what tells one from another: numbers, UUIDs,
// hashes and mail addresses are a star. What cannot be printed is one, too.
func keyPattern(key string) string {
	key = mails.ReplaceAllString(key, "*")
	key = uuids.ReplaceAllString(key, "*")
	key = hexes.ReplaceAllString(key, "*")
	key = numbers.ReplaceAllString(key, "*")
	key = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, key)
	if len(key) > maxPattern {
		key = key[:maxPattern] + "…"
	}
	return key
}
