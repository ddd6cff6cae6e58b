package live

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/unwatch/unwatch/proxycompat"
)

// Config says what to look for, and how long. The zero value works.
type Config struct {
	// Profile is the proxy that is to come. nil: Codis 3.2.
	Profile *proxycompat.Profile

	// For is how long to look. 0: 10 minutes.
	For time.Duration

	// Every is how often to look. 0: once a second. CLIENT LIST is asked for less often
	// where it takes long: see the documentation of the package.
	Every time.Duration

	// Timeout is how long to wait for a connection, and for each reply. 0: 5 s.
	Timeout time.Duration

	// TLS, if not nil, is spoken with all servers. An empty ServerName becomes the host
	// of the address. An address of rediss:// is asked with TLS in any case.
	TLS *tls.Config

	// Replicas also judges replicas, whose counts have what replication does in them:
	// MULTI, EXEC and PUBLISH that no client has sent.
	Replicas bool

	// OnlyThese asks no other server of a Redis Cluster than those that were given.
	OnlyThese bool

	// Strict makes a finding of administration that is refused, too: CONFIG, SLOWLOG and
	// the like, which operators and exporters send to a server itself.
	Strict bool

	// Monitor, if not nil, also looks with MONITOR, which costs: see there.
	Monitor *MonitorConfig

	// Progress, if not nil, is told of each look, the first one included, before the
	// wait for the next one.
	Progress func(Progress)

	// Dial opens connections. nil: a net.Dialer's DialContext.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	name string // of our connections
}

// Progress is what was seen up to now.
type Progress struct {
	Elapsed, For time.Duration
	Servers      int
	Commands     int64
	Uses         int64 // of what is refused
}

func (c Config) withDefaults() (Config, error) {
	if c.Profile == nil {
		c.Profile = proxycompat.Codis32()
	}
	if c.Profile.Server() {
		return c, fmt.Errorf("live: the profile %q is that of a server, which refuses nothing", c.Profile.Name())
	}
	if c.For < 0 || c.Every < 0 || c.Timeout < 0 {
		return c, errors.New("live: a time below 0")
	}
	if c.For == 0 {
		c.For = 10 * time.Minute
	}
	if c.Every == 0 {
		c.Every = time.Second
	}
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Second
	}
	if c.Dial == nil {
		c.Dial = new(net.Dialer).DialContext
	}
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	if c.Monitor != nil {
		m := c.Monitor.withDefaults()
		c.Monitor = &m
	}
	c.name = ownName + strings.ToLower(rand.Text()[:8])
	return c, nil
}

func (c Config) tlsFor(a Address) *tls.Config {
	cfg := c.TLS
	if cfg == nil {
		cfg = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if cfg.ServerName != "" || cfg.InsecureSkipVerify {
		return cfg
	}
	named := cfg.Clone()
	named.ServerName, _, _ = net.SplitHostPort(a.Host)
	return named
}
