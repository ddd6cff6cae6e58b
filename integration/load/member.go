package load

import (
	"context"
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
	// stores is how many a run has, each as if it were a process of its own.
	stores = 4

	// lease is short, so that a short run has holders that outlive theirs.
	lease = 2 * time.Second
)

// store is what is judged; tests put one with a mistake in its place.
type store interface {
	rmw.Updater
	Stats() lockupdate.Stats
	Close() error
}

// member is one store with its client.
type member struct {
	store
	rdb *redis.Client

	hot      atomic.Int64 // updates of the key that all want
	others   atomic.Int64 // those of the other stores, when the last of them was acknowledged
	servedAt atomic.Int64 // when the last of them was acknowledged, or the first one called; 0: there is none
}

// join opens a member with a share of the pool.
func join(s *site, share int, dials *dials, open func(rdb *redis.Client) store) *member {
	rdb := redis.NewClient(options(s, share, dials))
	return &member{store: open(rdb), rdb: rdb}
}

// options are those of proxycompat, with a third of the connections for pipelines as there. A
// thousand callers wait for them longer than go-redis thinks is right.
func options(s *site, share int, dials *dials) *redis.Options {
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

// dials counts connections from where they are made, so that none between two looks is missed.
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

// counts returns how many connections are open, and how many were at once.
func (d *dials) counts() (open, most int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open, d.most
}

// conn is still a TCP connection for go-redis, which asks the system whether it is alive.
type conn struct {
	*net.TCPConn
	gone func()
}

func (c *conn) Close() error {
	c.gone()
	return c.TCPConn.Close()
}
