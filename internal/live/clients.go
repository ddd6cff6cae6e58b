package live

import (
	"net"
	"regexp"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/internal/wrap"
)

// Client is a line of CLIENT LIST. Unknown fields are zero. Multi is -1 outside of MULTI.
type Client struct {
	ID             int64
	Addr           string // HOST:PORT, or the path of a socket
	Name           string
	Lib            string // "go-redis 9.7.0"; since Redis 7.2
	User           string // since Redis 6
	Flags          string
	Cmd            string // the last command: "WATCH", "CLIENT LIST"; empty before the first
	Age, Idle      int64  // seconds
	Sub, PSub, SSb int    // subscriptions to channels, patterns and shard channels
	Multi          int
	Watch          int // keys; since Redis 7.4
}

// ParseClients parses a reply to CLIENT LIST. It ignores lines without an address.
func ParseClients(text string) (all []Client) {
	for line := range strings.Lines(text) {
		if c := parseClient(line); c.Addr != "" {
			all = append(all, c)
		}
	}
	return all
}

func parseClient(line string) Client {
	c := Client{Multi: -1}
	var version string
	texts := map[string]*string{
		"addr": &c.Addr, "name": &c.Name, "lib-name": &c.Lib, "lib-ver": &version, "user": &c.User, "flags": &c.Flags, "cmd": &c.Cmd,
	}
	seconds := map[string]*int64{"id": &c.ID, "age": &c.Age, "idle": &c.Idle}
	counts := map[string]*int{"sub": &c.Sub, "psub": &c.PSub, "ssub": &c.SSb, "watch": &c.Watch, "multi": &c.Multi}
	for field := range strings.SplitSeq(strings.TrimRight(line, "\r\n"), " ") {
		key, value, ok := strings.Cut(wrap.Printable(field), "=")
		n, err := strconv.ParseInt(value, 10, 64)
		switch {
		case !ok:
		case texts[key] != nil:
			*texts[key] = value
		case seconds[key] != nil:
			*seconds[key] = number(value)
		case counts[key] != nil && err == nil:
			*counts[key] = int(n)
		case counts[key] != nil && key != "multi":
			*counts[key] = 0
		}
	}
	if c.Cmd == "NULL" {
		c.Cmd = ""
	}
	c.Cmd = commandName(c.Cmd)
	c.Lib = strings.TrimSpace(c.Lib + " " + version)
	return c
}

// Host returns the address without the port: each connection of a process has its own port.
func (c Client) Host() string {
	if host, _, err := net.SplitHostPort(c.Addr); err == nil {
		return host
	}
	return c.Addr
}

// Kind is the kind of a client.
type Kind string

// The kinds.
const (
	Service  Kind = "service"
	Replica  Kind = "replica"  // or the link to the own primary
	Sentinel Kind = "sentinel" // by its name
	Monitor  Kind = "monitor"  // a client in MONITOR
)

// sentinelName matches the names that sentinel.c sets: "sentinel-%.8s-cmd" and "-pubsub".
var sentinelName = regexp.MustCompile(`^sentinel-[0-9a-f]{8}-(cmd|pubsub)$`)

// Kind returns the kind of the client, by its flags and its name.
func (c Client) Kind() Kind {
	switch {
	case strings.Contains(c.Flags, "O"): // old servers add S to a MONITOR
		return Monitor
	case strings.ContainsAny(c.Flags, "SM"):
		return Replica
	case sentinelName.MatchString(c.Name):
		return Sentinel
	}
	return Service
}

// Holds returns the commands with a lasting effect on the connection: it is subscribed, in a
// transaction, watching, or blocked.
func (c Client) Holds() (held []string) {
	add := func(is bool, command string) {
		if is {
			held = append(held, command)
		}
	}
	add(c.Sub > 0, "SUBSCRIBE")
	add(c.PSub > 0, "PSUBSCRIBE")
	add(c.SSb > 0, "SSUBSCRIBE")
	add(c.Multi >= 0 || strings.Contains(c.Flags, "x"), "MULTI")
	add(c.Watch > 0 || strings.Contains(c.Flags, "d"), "WATCH") // d: a watched key was written
	add(strings.Contains(c.Flags, "b") && c.Cmd != "", c.Cmd)
	return held
}
