package live

import (
	"regexp"
	"strconv"
	"strings"
)

// MonitorLine is a command in the output of MONITOR. It has values, so it must not be kept.
type MonitorLine struct {
	Source string // HOST:PORT, "lua", or "unix:" and the path of a socket
	DB     int
	Args   []string
	Cut    bool // Args is not complete
}

// ParseMonitorLine parses `1700000000.123456 [0 10.0.0.7:51234] "SET" "key" "value"`.
func ParseMonitorLine(line string) (m MonitorLine, ok bool) {
	_, rest, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " [")
	from, rest, ok := strings.Cut(rest, `] "`) // a path may have a bracket
	db, source, _ := strings.Cut(from, " ")
	if !ok || source == "" {
		return MonitorLine{}, false
	}
	m.Source, m.DB = source, int(number(db))
	for rest = `"` + rest; rest != ""; rest = strings.TrimLeft(rest, " ") {
		// A server escapes like Go: see sdscatrepr in sds.c.
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil || quoted[0] != '"' {
			m.Cut = true
			break
		}
		word, _ := strconv.Unquote(quoted) // QuotedPrefix has checked it
		m.Args = append(m.Args, word)
		rest = rest[len(quoted):]
	}
	return m, len(m.Args) > 0
}

// variable matches the parts of a key that distinguish it from others: mail addresses, UUIDs, hashes
// and numbers. They are replaced in this order.
var variable = []*regexp.Regexp{
	regexp.MustCompile(`[^\s:{}/|]+@[^\s:{}/|]+`),
	regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`),
	regexp.MustCompile(`[0-9a-fA-F]*[0-9][0-9a-fA-F]{7,}|[0-9a-fA-F]{16,}`),
	regexp.MustCompile(`[0-9]+`),
}

// keyPattern returns the form of a key, with a star for each variable part, and at most 80 bytes of it.
func keyPattern(key string) string {
	const most = 80
	for _, re := range variable {
		key = re.ReplaceAllString(key, "*")
	}
	key = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, key)
	if len(key) > most {
		key = key[:most] + "…"
	}
	return key
}
