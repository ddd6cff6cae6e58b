package live

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Address is a server, and as whom to ask it. Printing one shows no password.
type Address struct {
	Host               string // HOST:PORT
	Username, Password string
	TLS                bool // rediss://
}

// String is HOST:PORT.
func (a Address) String() string { return a.Host }

// GoString is HOST:PORT as well: %#v must not show what String hides.
func (a Address) GoString() string { return strconv.Quote(a.Host) }

// ParseAddress reads HOST:PORT, or redis://USER:PASSWORD@HOST:PORT/0, or the same with
// rediss:// for TLS. The number of a database is accepted and has no meaning: what is
// counted is counted of the server. No error repeats what may be a password.
func ParseAddress(word string) (Address, error) {
	scheme, rest, isURL := strings.Cut(word, "://")
	if !isURL {
		if strings.Contains(word, "@") {
			return Address{}, errors.New("an address with a user is a URL: redis://USER:PASSWORD@HOST:PORT")
		}
		return Address{Host: word}, checkHost(word)
	}
	scheme = strings.ToLower(scheme)
	if scheme != "redis" && scheme != "rediss" {
		return Address{}, errors.New("want redis:// or rediss:// (for TLS)")
	}
	u, err := url.Parse("redis://" + rest)
	if err != nil { // its text has the password in it
		return Address{}, errURL
	}
	a := Address{Host: u.Host, Username: u.User.Username(), TLS: scheme == "rediss"}
	a.Password, _ = u.User.Password()
	if strings.ContainsAny(rest, "/?#") && strings.Contains(rest[strings.IndexAny(rest, "/?#"):], "@") {
		return Address{}, errURL // what was read as a host is the beginning of a password
	}
	if u.Hostname() != "" && u.Port() == "" {
		a.Host = net.JoinHostPort(u.Hostname(), "6379")
	}
	if a.Username != "" && a.Password == "" {
		return Address{}, errors.New("a URL with a user and no password: redis://:PASSWORD@HOST has no user")
	}
	if checkHost(a.Host) != nil { // it is not shown: it may be a password, with the user forgotten
		return Address{}, errURL
	}
	return a, nil
}

var errURL = errors.New("this is no URL such as redis://HOST:PORT or redis://USER:PASSWORD@HOST:PORT; " +
	"signs such as @ / # ? in a password are written as %40 %2F %23 %3F")

func checkHost(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err == nil {
		var n int
		if n, err = strconv.Atoi(port); err == nil && host != "" && n > 0 && n <= 65535 {
			return nil
		}
	}
	return fmt.Errorf("%q is no address; want HOST:PORT, such as redis:6379 or [::1]:6379, or redis://HOST:PORT", addr)
}
