package zklock

import (
	"fmt"
	"math"
	"net"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// Config tunes a [Locker]. The zero Config works.
type Config struct {
	// Lease and LockDelay together are the timeout of the session, by default 10 s, in
	// milliseconds. ZooKeeper must grant exactly this timeout. Its default is to grant 2 to
	// 20 ticks, which is 4 s to 40 s.
	driver.Config

	// Root is the node below which the locks are. Default "/locks".
	Root string

	// ACL is the access control list of all nodes that the Locker makes. Default: scheme world,
	// with all permissions. A Locker needs those to read, create and delete.
	ACL []zk.ACL

	// Digest is "user:password" with which the session authenticates itself. Default: none.
	Digest string

	// Dial connects to a server, for example by TLS. Default [net.DialTimeout].
	Dial zk.Dialer
}

// DefaultRoot is the Root of a Config that names none.
const DefaultRoot = "/locks"

// maxName bounds a lock's name in bytes. Its node has two characters for each.
const maxName = 1024

func (c Config) withDefaults() Config {
	c.Config = c.Config.WithDefaults()
	if c.Root == "" {
		c.Root = DefaultRoot
	}
	c.Root = strings.TrimRight(c.Root, "/")
	if c.ACL == nil {
		c.ACL = zk.WorldACL(zk.PermAll)
	}
	if c.Dial == nil {
		c.Dial = net.DialTimeout
	}
	return c
}

// timeout is the timeout of the session.
func (c Config) timeout() time.Duration { return c.Expiry().Truncate(time.Millisecond) }

func (c Config) validate() error {
	switch err := c.Config.Validate(); {
	case err != nil:
		return err
	case c.Expiry() > math.MaxInt32*time.Millisecond:
		return fmt.Errorf("%w: Config.Lease and LockDelay are %v; use at most 40s, or what maxSessionTimeout allows", rmw.ErrInvalid, c.Expiry())
	case c.Root != "" && !strings.HasPrefix(c.Root, "/"):
		return fmt.Errorf("%w: Config.Root is %q; begin it with a slash", rmw.ErrInvalid, c.Root)
	}
	return nil
}

// driver is the Config of the common engine: a hold counts on three fifths of the lease.
func (c Config) driver() driver.Config {
	inner := c.Config
	inner.Lease = c.Lease * 3 / 5
	inner.LockDelay = c.Expiry() - inner.Lease
	return inner
}

// Locker is a [lock.Locker] over ZooKeeper. It is safe for concurrent use, and reentrant.
type Locker struct {
	*driver.Locker

	service *service
}

var (
	_ lock.Locker    = (*Locker)(nil)
	_ lock.Checker   = (*Locker)(nil)
	_ lock.Inspector = (*Locker)(nil)
)

// New makes a Locker over the servers, each HOST or HOST:PORT, and begins to connect. The error
// is that of a Config that cannot work, or of a host that is not found. If no server answers, a
// call waits as long as a session lasts, and then returns rmw.ErrUnavailable. While ZooKeeper
// grants another session timeout, calls return rmw.ErrInvalid.
func New(servers []string, cfg Config) (*Locker, error) {
	fail := func(err error) (*Locker, error) {
		return nil, &rmw.Error{Path: "zklock", Op: "open", Reason: err}
	}
	if err := cfg.validate(); err != nil {
		return fail(err)
	}
	s := newService(cfg.withDefaults())
	s.locker = driver.New(s, driver.Options{
		Package: "zklock", Service: "zookeeper", Tokens: true,
		NoDelay: s.cfg.LockDelay == 0, // what the driver takes for the delay is the rest of the session
	}, s.cfg.driver())
	conn, _, err := zk.Connect(servers, s.timeout,
		zk.WithDialer(s.dial), zk.WithEventCallback(s.event), zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	if err != nil {
		return fail(fmt.Errorf("%w: %w", rmw.ErrUnavailable, err))
	}
	s.conn, s.servers = conn, len(servers)
	return &Locker{Locker: s.locker, service: s}, nil
}

// Close refuses new calls, ends those that wait for a lock with rmw.ErrClosed, and waits for
// the functions that run and for the releases of their locks. Then it ends the session. Do not
// call it from within such a function. It may be called again; its error is always nil.
func (l *Locker) Close() error {
	err := l.Locker.Close()
	l.service.close()
	return err
}

// quiet drops the log of the client: the error of a call says why it failed, and the Observer is
// told of locks in jeopardy.
type quiet struct{}

func (quiet) Printf(string, ...any) {}
