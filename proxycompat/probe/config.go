package probe

import (
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

// Config says how to ask. The zero value works.
type Config struct {
	// Profile is what the address is expected to be; nil: compare with the profile that
	// it is most like. What it marks as harmful to others is not asked.
	Profile *proxycompat.Profile

	// Password and Username are for AUTH on each connection. Without a Password there
	// is no AUTH. With a Username it is sent with two arguments, which most proxies refuse.
	Password, Username string

	// TLS, if not nil, is spoken from the first byte on. An empty ServerName becomes
	// the host of the address.
	TLS *tls.Config

	// Timeout is how long to wait for a connection, and for each reply. 0: 2 s.
	Timeout time.Duration

	// Budget is how long the whole may take. What has not been asked by then is
	// missing in the report, which says so. 0: 30 s.
	Budget time.Duration

	// Risky also asks what can harm other clients of the same proxy: HELLO 3, pub/sub,
	// blocking commands, RESET; and larger values and pipelines.
	Risky bool

	// Prefix is how all its keys begin. Empty: "unwatch:probe:" and something random.
	// It may not have braces, which decide about servers.
	Prefix string
}

// plain is a Config that prints as any struct does.
type plain Config

// String shows all but the password.
func (c Config) String() string { return fmt.Sprintf("%+v", c.withoutPassword()) }

// GoString is the same: %#v must not show what String hides.
func (c Config) GoString() string { return "probe.Config" + c.String() }

func (c Config) withoutPassword() plain {
	if c.Password != "" {
		c.Password = "(not shown)"
	}
	return plain(c)
}

// lifetime is how long its keys live at most: longer than the default budget, and short
// enough to leave nothing behind.
const lifetime = time.Minute

// farewell is how long deleting its keys may take, after all else has ended.
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

// checkAddr names a typing error as one, before a resolver makes something else of it.
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
