package live

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/internal/wrap"
)

// Stat is what a server has counted of a command.
type Stat struct {
	Calls    int64 `json:"calls"`              // carried out, those inside of scripts among them
	Rejected int64 `json:"rejected,omitempty"` // refused before that: by an ACL, or for wrong arguments; since Redis 6.2
	Failed   int64 `json:"failed,omitempty"`   // carried out, and ended in an error; since Redis 6.2
}

// Uses is how often the command was sent: what is refused was sent, too.
func (s Stat) Uses() int64 { return s.Calls + s.Rejected }

func (s Stat) plus(o Stat) Stat {
	return Stat{s.Calls + o.Calls, s.Rejected + o.Rejected, s.Failed + o.Failed}
}

// minus never goes below 0.
func (s Stat) minus(o Stat) Stat {
	return Stat{max(s.Calls-o.Calls, 0), max(s.Rejected-o.Rejected, 0), max(s.Failed-o.Failed, 0)}
}

// Info is an answer to INFO.
type Info struct {
	Fields   map[string]string // all others
	Commands map[string]Stat   // by name: "WATCH", "CLIENT LIST"
}

// ParseInfo reads an answer to INFO, of any section. What it cannot read it leaves out.
func ParseInfo(text string) Info {
	info := Info{Fields: map[string]string{}, Commands: map[string]Stat{}}
	for line := range strings.Lines(text) {
		line = wrap.Printable(strings.TrimRight(line, "\r\n"))
		if strings.HasPrefix(line, "#") {
			continue
		}
		if name, ok := strings.CutPrefix(line, "cmdstat_"); ok {
			info.command(name)
			continue
		}
		if field, value, ok := strings.Cut(line, ":"); ok {
			info.Fields[field] = value
		}
	}
	return info
}

// command reads "client|list:calls=1,usec=20,usec_per_call=20.00,rejected_calls=0,failed_calls=0".
// The names of modules may have colons in them, and so has "host:".
func (info Info) command(line string) {
	at := strings.LastIndex(line, ":calls=")
	if at <= 0 {
		return
	}
	var s Stat
	for field := range strings.SplitSeq(line[at+1:], ",") {
		key, value, _ := strings.Cut(field, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			continue
		}
		switch key {
		case "calls":
			s.Calls = n
		case "rejected_calls":
			s.Rejected = n
		case "failed_calls":
			s.Failed = n
		}
	}
	info.Commands[commandName(line[:at])] = s
}

// commandName is the name as package proxycompat has it, of "client|list" or "watch".
func commandName(word string) string {
	return strings.ToUpper(strings.ReplaceAll(word, "|", " "))
}

func (info Info) number(field string) int64 {
	n, err := strconv.ParseInt(info.Fields[field], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// mode is "standalone", "cluster" or "sentinel". Valkey has the field under its own name.
func (info Info) mode() string { return cmp.Or(info.Fields["redis_mode"], info.Fields["server_mode"]) }

// product is what it calls itself: "Redis 7.0.15", or "valkey 8.0.1".
func (info Info) product() string {
	if name := info.Fields["server_name"]; name != "" && info.Fields[name+"_version"] != "" {
		return name + " " + info.Fields[name+"_version"]
	}
	return "Redis " + info.version()
}

// version is that of the Redis it is compatible with.
func (info Info) version() string { return info.Fields["redis_version"] }

func (info Info) major() int {
	major, _ := info.majorMinor()
	return major
}

func (info Info) majorMinor() (major, minor int) {
	words := strings.SplitN(info.version()+".", ".", 3)
	major, _ = strconv.Atoi(words[0]) // 0: not known
	minor, _ = strconv.Atoi(words[1])
	return major, minor
}

// countsRefusals reports whether commands that an ACL has refused are counted: since 6.2.
func (info Info) countsRefusals() bool {
	major, minor := info.majorMinor()
	return major > 6 || major == 6 && minor >= 2
}
