package live

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/internal/wrap"
)

// Address is a server, with the user for its connections. Printing it shows no password.
type Address struct {
	Host               string // HOST:PORT, or the path of a socket
	Username, Password string
	TLS                bool // rediss://
	DB                 int  // the number of the database

	// Primary, if not empty, is the name of the server at its Sentinels. Host is empty then. The
	// password is sent to a Sentinel only if it asks for one.
	Primary   string
	Sentinels []string // HOST:PORT
}

// String returns the address without user and password.
func (a Address) String() string {
	if a.Primary != "" {
		return "sentinel://" + strings.Join(a.Sentinels, ",") + "/" + a.Primary
	}
	return a.Host
}

// GoString makes %#v as safe as %v.
func (a Address) GoString() string { return strconv.Quote(a.String()) }

// network returns the network for net.Dial.
func (a Address) network() string {
	if strings.HasPrefix(a.Host, "/") {
		return "unix"
	}
	return "tcp"
}

// ParseAddress parses HOST:PORT, redis://USER:PASSWORD@HOST:PORT/DB, the same with rediss:// for TLS,
// the path of a socket, unix://USER:PASSWORD@/PATH?db=DB, or sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/NAME/DB.
// It refuses any other part of a URL. Its errors repeat no password.
func ParseAddress(word string) (Address, error) {
	scheme, rest, isURL := strings.Cut(word, "://")
	switch {
	case strings.HasPrefix(word, "/"):
		return Address{Host: word}, nil
	case !isURL && strings.Contains(word, "@"):
		return Address{}, errors.New("an address with a user is a URL: redis://USER:PASSWORD@HOST:PORT")
	case !isURL:
		return Address{Host: word}, checkHost(word)
	}
	scheme = strings.ToLower(scheme)
	if !slices.Contains([]string{"redis", "rediss", "unix", "sentinel"}, scheme) {
		return Address{}, errors.New("want redis://, rediss:// (for TLS), unix:// or sentinel://")
	}
	hosts := ""
	if scheme == "sentinel" { // url.Parse accepts one host only
		authority, name, _ := strings.Cut(rest, "/")
		at := strings.LastIndex(authority, "@") + 1
		hosts, rest = authority[at:], authority[:at]+"sentinels/"+name
	}
	u, err := url.Parse("redis://" + rest)
	if err != nil { // the text of err has the password
		return Address{}, errURL
	}
	a := Address{Host: u.Host, Username: u.User.Username(), TLS: scheme == "rediss"}
	a.Password, _ = u.User.Password()
	if end := strings.IndexAny(rest, "/?#"); end >= 0 && strings.Contains(rest[end:], "@") {
		return Address{}, errURL // the host is the beginning of a password
	}
	if a.Username != "" && a.Password == "" {
		return Address{}, errors.New("a URL with a user and no password: redis://:PASSWORD@HOST has no user")
	}
	db := strings.Trim(u.Path, "/")
	switch scheme {
	case "sentinel":
		a.Host = ""
		a.Primary, db, _ = strings.Cut(db, "/")
		err = a.readSentinels(hosts)
	case "unix":
		if a.Host, db = u.Path, ""; u.Host != "" || len(a.Host) < 2 {
			return Address{}, errors.New("want unix:///PATH, or unix://USER:PASSWORD@/PATH")
		}
	}
	if err == nil {
		err = a.readDB(db, u)
	}
	if err != nil {
		return Address{}, err
	}
	if scheme == "sentinel" || scheme == "unix" {
		return a, nil
	}
	if u.Hostname() != "" && u.Port() == "" {
		a.Host = net.JoinHostPort(u.Hostname(), "6379")
	}
	if checkHost(a.Host) != nil { // the host may be a password without a user
		return Address{}, errURL
	}
	return a, nil
}

// readDB reads the number of the database from the path or from the query, which has nothing else.
func (a *Address) readDB(db string, u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	all := query["db"]
	delete(query, "db")
	switch {
	case err != nil || u.Fragment != "" || len(query) > 0:
		return errSetting
	case db != "":
		all = append(all, db)
	case len(all) == 0:
		return nil
	}
	if len(all) > 1 {
		return errDB
	}
	if a.DB, err = strconv.Atoi(all[0]); err != nil || a.DB < 0 {
		return errDB
	}
	return nil
}

// readSentinels parses HOST:PORT,HOST:PORT.
func (a *Address) readSentinels(hosts string) error {
	for host := range strings.SplitSeq(hosts, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil && host != "" {
			host = net.JoinHostPort(strings.Trim(host, "[]"), "26379")
		}
		if checkHost(host) != nil {
			return errSentinel
		}
		a.Sentinels = append(a.Sentinels, host)
	}
	if a.Primary == "" {
		return errSentinel
	}
	return nil
}

var (
	errSetting = errors.New("a URL has no settings such as ?protocol=3 here, except ?db=N: leave them out; TLS is rediss:// or -tls")
	errDB      = errors.New("the database of a URL is one number, such as redis://HOST:PORT/3, unix:///PATH?db=3 or sentinel://HOST:PORT/NAME/3")

	errSentinel = errors.New("want sentinel://HOST:PORT,HOST:PORT/NAME, with the name that the sentinels have for the primary")
	errURL      = errors.New("this is no URL such as redis://HOST:PORT or redis://USER:PASSWORD@HOST:PORT; " +
		"signs such as @ / # ? in a password are written as %40 %2F %23 %3F")
)

func checkHost(addr string) error {
	if host, port, err := net.SplitHostPort(addr); err == nil && host != "" {
		if n, err := strconv.Atoi(port); err == nil && n > 0 && n <= 65535 {
			return nil
		}
	}
	if wrap.WithoutSecrets(addr) != addr {
		return errors.New("an address has no settings such as password=X; want redis://:PASSWORD@HOST:PORT")
	}
	return fmt.Errorf("%q is no address; want HOST:PORT, such as redis:6379 or [::1]:6379, or redis://HOST:PORT", addr)
}
