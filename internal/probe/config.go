package probe

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/wrap"
	"github.com/unwatch/unwatch/proxycompat"
)

// Config configures Probe. The zero value is valid.
type Config struct {
	// Profile is the expected profile; nil: compare with the most similar one. Probe does not send commands
	// that it marks as harmful to others.
	Profile *proxycompat.Profile

	// Password and Username are for AUTH on each connection. An empty Password sends no AUTH. With a
	// Username, AUTH has two arguments, which most proxies refuse.
	Password, Username string

	// Dial connects, for example through a tunnel. nil: the network "tcp".
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// TLS, if not nil, makes every connection use TLS. An empty ServerName becomes the host of the address.
	TLS *tls.Config

	// Timeout limits the wait for a connection, and for each reply. 0: 2 s.
	Timeout time.Duration

	// Budget limits the duration of the probe. The report names the parts that did not fit. 0: 30 s.
	Budget time.Duration

	// Risky also sends commands that can harm other clients of the same proxy: HELLO 3, pub/sub, blocking
	// commands, RESET; and larger values and pipelines.
	Risky bool

	// Prefix begins all keys of the probe. Empty: "unwatch:probe:" and a random text. It must not contain
	// braces, which select servers.
	Prefix string
}

// plain is Config without its String methods.
type plain Config

// String shows all fields but the password.
func (c Config) String() string { return fmt.Sprintf("%+v", c.withoutPassword()) }

// GoString hides the password from %#v.
func (c Config) GoString() string { return "probe.Config" + c.String() }

func (c Config) withoutPassword() plain {
	if c.Password != "" {
		c.Password = "(not shown)"
	}
	return plain(c)
}

// lifetime limits the expiry of the probe's keys: longer than the default budget, and short enough to leave
// nothing behind.
const lifetime = time.Minute

// farewell limits the time for deleting the keys after the probe.
const farewell = time.Second

// maxPrefix keeps keys short: servers keep each key in memory, and some refuse long ones.
const maxPrefix = 128

func (c Config) withDefaults() (Config, error) {
	if c.Timeout <= 0 {
		c.Timeout = 2 * time.Second
	}
	if c.Budget <= 0 {
		c.Budget = 30 * time.Second
	}
	if c.Dial == nil {
		c.Dial = new(net.Dialer).DialContext
	}
	switch {
	case c.Prefix == "":
		c.Prefix = "unwatch:probe:" + strings.ToLower(rand.Text()[:12]) + ":"
	case strings.ContainsAny(c.Prefix, "{}"):
		return c, errors.New("probe: a Prefix cannot have braces: they decide on which server a key is")
	case len(c.Prefix) > maxPrefix:
		return c, fmt.Errorf("probe: a Prefix cannot be longer than %d bytes, this one has %d", maxPrefix, len(c.Prefix))
	}
	if c.Username != "" && c.Password == "" {
		return c, errors.New("probe: a Username needs a Password")
	}
	return c, nil
}

// checkAddr reports a mistyped address before a resolver fails with a less clear error.
func checkAddr(addr string) error {
	if shown := wrap.WithoutSecrets(addr); shown != addr {
		return &ConnectError{Addr: shown, Reason: BadAddress, what: "this is a URL, or has a user in it"}
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return &ConnectError{Addr: addr, Reason: BadAddress, what: "this is no address"}
	}
	if n, err := strconv.Atoi(port); host == "" || err != nil || n < 1 || n > 65535 {
		return &ConnectError{Addr: addr, Reason: BadAddress, what: "this is no address"}
	}
	return nil
}
