package live

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/internal/wrap"
)

// Stat has a server's counts for a command.
type Stat struct {
	Calls    int64 `json:"calls"`              // executed, including calls by scripts
	Rejected int64 `json:"rejected,omitempty"` // rejected before execution, by an ACL or for wrong arguments; since Redis 6.2
	Failed   int64 `json:"failed,omitempty"`   // executed with an error; since Redis 6.2
}

// Uses counts how often the command was sent, rejected or not.
func (s Stat) Uses() int64 { return s.Calls + s.Rejected }

func (s Stat) plus(o Stat) Stat {
	return Stat{s.Calls + o.Calls, s.Rejected + o.Rejected, s.Failed + o.Failed}
}

// minus returns no negative count.
func (s Stat) minus(o Stat) Stat {
	return Stat{max(s.Calls-o.Calls, 0), max(s.Rejected-o.Rejected, 0), max(s.Failed-o.Failed, 0)}
}

// Info is a parsed reply to INFO.
type Info struct {
	Fields   map[string]string
	Commands map[string]Stat // by name: "WATCH", "CLIENT LIST"
	Limits   []string        // settings that weaken the guarantees
}

// ParseInfo parses a reply to INFO, of any section. It ignores malformed lines.
func ParseInfo(text string) Info {
	info := Info{Fields: map[string]string{}, Commands: map[string]Stat{}}
	for line := range strings.Lines(text) {
		line = wrap.Printable(strings.TrimRight(line, "\r\n"))
		if name, ok := strings.CutPrefix(line, "cmdstat_"); ok {
			info.command(name)
		} else if field, value, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
			info.Fields[field] = value
		}
	}
	return info
}

// command parses "client|list:calls=1,usec=20,usec_per_call=20.00,rejected_calls=0,failed_calls=0".
// Names of modules may have colons, and so has "host:".
func (info Info) command(line string) {
	at := strings.LastIndex(line, ":calls=")
	if at <= 0 {
		return
	}
	var s Stat
	fields := map[string]*int64{"calls": &s.Calls, "rejected_calls": &s.Rejected, "failed_calls": &s.Failed}
	for field := range strings.SplitSeq(line[at+1:], ",") {
		key, value, _ := strings.Cut(field, "=")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= 0 && fields[key] != nil {
			*fields[key] = n
		}
	}
	info.Commands[commandName(line[:at])] = s
}

// commandName returns the name in package proxycompat of "client|list" or "watch".
func commandName(word string) string {
	return strings.ToUpper(strings.ReplaceAll(word, "|", " "))
}

// number parses a number: 0 if malformed.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (info Info) number(field string) int64 { return number(info.Fields[field]) }

// mode returns "standalone", "cluster" or "sentinel". Valkey has its own name for the field.
func (info Info) mode() string { return cmp.Or(info.Fields["redis_mode"], info.Fields["server_mode"]) }

// product returns "Redis 7.0.15", or "valkey 8.0.1".
func (info Info) product() string {
	if name := info.Fields["server_name"]; name != "" && info.Fields[name+"_version"] != "" {
		return name + " " + info.Fields[name+"_version"]
	}
	return "Redis " + info.version()
}

// version returns the version of the compatible Redis.
func (info Info) version() string { return info.Fields["redis_version"] }

func (info Info) major() int {
	major, _ := info.majorMinor()
	return major
}

// majorMinor returns 0 for an unknown version.
func (info Info) majorMinor() (major, minor int) {
	words := strings.SplitN(info.version()+".", ".", 3)
	major, _ = strconv.Atoi(words[0])
	minor, _ = strconv.Atoi(words[1])
	return major, minor
}

// countsRefusals reports whether the server counts commands that an ACL rejects: since 6.2.
func (info Info) countsRefusals() bool {
	major, minor := info.majorMinor()
	return major > 6 || major == 6 && minor >= 2
}
