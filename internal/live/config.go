package live

import (
	"cmp"
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

// Config configures Run. The zero value works.
type Config struct {
	// Profile is the proxy to migrate to. Default Codis 3.2.
	Profile *proxycompat.Profile

	// For is the length of the window. Default 10 minutes.
	For time.Duration

	// Every is the interval between two looks. Default 1 second. A slow CLIENT LIST is sent less
	// often: see the documentation of the package.
	Every time.Duration

	// Timeout bounds connecting, and the wait for each reply. Default 5 s.
	Timeout time.Duration

	// TLS, if not nil, is used with all servers. An empty ServerName becomes the host of the
	// address. An address with rediss:// always uses TLS.
	TLS *tls.Config

	// Replicas accepts replicas. Their counts include MULTI, EXEC and PUBLISH of replication.
	Replicas bool

	// OnlyThese asks none of the other servers of a Redis Cluster.
	OnlyThese bool

	// Strict also reports refused administration as findings: CONFIG, SLOWLOG and the like, which
	// operators and exporters send to a server itself.
	Strict bool

	// Monitor, if not nil, also sends MONITOR, which is expensive: see MonitorConfig.
	Monitor *MonitorConfig

	// Progress, if not nil, is called after each look.
	Progress func(Progress)

	// Dial opens connections. Default the DialContext of a net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	name string // of our connections
}

// Progress is the state of a run.
type Progress struct {
	Elapsed, For time.Duration
	Servers      int
	Commands     int64
	Uses         int64 // of refused commands
}

func (c Config) withDefaults() (Config, error) {
	c.Profile = cmp.Or(c.Profile, proxycompat.Codis32())
	if c.Profile.Server() {
		return c, fmt.Errorf("live: profile %q is a server, which refuses nothing: choose a proxy", c.Profile.Name())
	}
	if c.For < 0 || c.Every < 0 || c.Timeout < 0 {
		return c, errors.New("live: For, Every and Timeout must not be negative")
	}
	c.For = cmp.Or(c.For, 10*time.Minute)
	c.Every = cmp.Or(c.Every, time.Second)
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
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
