package live

import (
	"net"
	"regexp"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/internal/wrap"
)

// Client is a line of CLIENT LIST. Fields that a server does not have yet are zero, but
// for Multi, which is -1 outside of MULTI.
type Client struct {
	ID             int64
	Addr           string // HOST:PORT, or the path of a socket
	Name           string
	Lib            string // "go-redis 9.7.0"; since Redis 7.2
	User           string // since Redis 6
	Flags          string
	Cmd            string // the last one: "WATCH", "CLIENT LIST"; empty: none yet
	Age, Idle      int64  // seconds
	Sub, PSub, SSb int    // subscriptions: to channels, patterns, channels of a slot
	Multi          int
	Watch          int // keys; since Redis 7.4
}

// ParseClients reads an answer to CLIENT LIST. Lines without an address are left out.
func ParseClients(text string) []Client {
	var all []Client
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
	for field := range strings.SplitSeq(strings.TrimRight(line, "\r\n"), " ") { // only this is between fields
		field = wrap.Printable(field)
		key, value, ok := strings.Cut(field, "=")
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			n = 0
		}
		switch key {
		case "id":
			c.ID = n
		case "addr":
			c.Addr = value
		case "name":
			c.Name = value
		case "lib-name":
			c.Lib = value
		case "lib-ver":
			version = value
		case "user":
			c.User = value
		case "flags":
			c.Flags = value
		case "age":
			c.Age = n
		case "idle":
			c.Idle = n
		case "sub":
			c.Sub = int(n)
		case "psub":
			c.PSub = int(n)
		case "ssub":
			c.SSb = int(n)
		case "watch":
			c.Watch = int(n)
		case "multi":
			if err == nil {
				c.Multi = int(n)
			}
		case "cmd":
			if value != "NULL" {
				c.Cmd = commandName(value)
			}
		}
	}
	c.Lib = strings.TrimSpace(c.Lib + " " + version)
	return c
}

// Host is the address without the port, which differs for each connection of a process.
func (c Client) Host() string {
	if host, _, err := net.SplitHostPort(c.Addr); err == nil {
		return host
	}
	return c.Addr
}

// Kind is what a client is there for.
type Kind string

// The kinds.
const (
	Service  Kind = "service"
	Replica  Kind = "replica"  // or the link to the own primary
	Sentinel Kind = "sentinel" // by the name that sentinels give themselves
	Monitor  Kind = "monitor"  // a client in MONITOR
)

// sentinelName is made by sentinel.c: "sentinel-%.8s-cmd" and "-pubsub".
var sentinelName = regexp.MustCompile(`^sentinel-[0-9a-f]{8}-(cmd|pubsub)$`)

// Kind tells who it is.
func (c Client) Kind() Kind {
	switch {
	case strings.Contains(c.Flags, "O"): // a MONITOR has S as well, in old servers
		return Monitor
	case strings.ContainsAny(c.Flags, "SM"):
		return Replica
	case sentinelName.MatchString(c.Name):
		return Sentinel
	}
	return Service
}

// Holds are the commands whose effect it is under: it is subscribed, in a transaction,
// watching, or blocked.
func (c Client) Holds() []string {
	var held []string
	if c.Sub > 0 {
		held = append(held, "SUBSCRIBE")
	}
	if c.PSub > 0 {
		held = append(held, "PSUBSCRIBE")
	}
	if c.SSb > 0 {
		held = append(held, "SSUBSCRIBE")
	}
	if c.Multi >= 0 || strings.Contains(c.Flags, "x") {
		held = append(held, "MULTI")
	}
	if c.Watch > 0 || strings.Contains(c.Flags, "d") { // d: a key that it watches was written to
		held = append(held, "WATCH")
	}
	if strings.Contains(c.Flags, "b") && c.Cmd != "" {
		held = append(held, c.Cmd)
	}
	return held
}
