package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

const (
	// stores is the number of stores in a run, each as in a process of its own.
	stores = 4

	// lease is short, so that a short run has holders that outlive a lease.
	lease = 2 * time.Second
)

// store is the subject of a run; tests replace it with a defective one.
type store interface {
	rmw.Store
	Stats() lockupdate.Stats
	Close() error
}

// member is one store with its clients.
type member struct {
	store
	clients []*redis.Client

	hot      atomic.Int64 // updates of the contended key
	others   atomic.Int64 // the other stores' updates at the last acknowledgment
	servedAt atomic.Int64 // the time of the last acknowledgment, or of the first call; 0: neither
}

func join(s *environment, share int, dials *dials, open func(rdb *redis.Client) store) *member {
	if s.old != nil {
		return joinMoving(s, share, dials, open)
	}
	rdb := redis.NewClient(options(s, share, dials))
	return &member{store: open(rdb), clients: []*redis.Client{rdb}}
}

// leave closes the clients.
func (m *member) leave() error {
	var errs []error
	for _, rdb := range m.clients {
		errs = append(errs, rdb.Close())
	}
	return errors.Join(errs...)
}

// options are those of proxycompat, with a third of the connections for pipelines. Pool timeouts are
// longer, since a thousand callers wait for few connections.
func options(s *environment, share int, dials *dials) *redis.Options {
	opts := proxycompat.Options(s.profile, s.addr)
	if opts.Dialer = dials.dial; s.profile.Name() != "redis" {
		opts.Dialer = proxycompat.HelloDialer(dials.dial)
	}
	opts.PipelinePoolSize = max(1, share/3)
	opts.PoolSize = share - opts.PipelinePoolSize
	opts.MaxActiveConns = opts.PoolSize
	opts.ReadTimeout, opts.WriteTimeout, opts.PoolTimeout = 10*time.Second, 10*time.Second, 30*time.Second
	return opts
}

// dials counts connections at the dialer, so that it misses none.
type dials struct {
	mu         sync.Mutex
	open, most int
}

func (d *dials) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	inner, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	tcp, ok := inner.(*net.TCPConn)
	if !ok {
		return nil, fmt.Errorf("%s to %s is no TCP connection", network, addr)
	}
	d.add(1)
	return &conn{TCPConn: tcp, gone: sync.OnceFunc(func() { d.add(-1) })}, nil
}

func (d *dials) add(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open += n
	d.most = max(d.most, d.open)
}

// counts returns the current and the maximum number of open connections.
func (d *dials) counts() (open, most int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open, d.most
}

// conn implements syscall.Conn like a TCP connection: go-redis uses it to detect closed connections.
type conn struct {
	*net.TCPConn
	gone func()
}

func (c *conn) Close() error {
	c.gone()
	return c.TCPConn.Close()
}
