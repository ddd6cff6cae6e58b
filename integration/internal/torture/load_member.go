package torture

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

// loadStore is the subject of a load; a control replaces it with a defective one.
type loadStore interface {
	rmw.Store
	Stats() lockupdate.Stats
	Close() error
}

// loadOpener opens the store of a process.
type loadOpener func(rdb *redis.Client, process int) loadStore

// onDemand reports whether a process takes the lock on demand: every second one.
func onDemand(process int) bool { return process%2 == 1 }

// openLoad returns the product's stores.
func openLoad(context.Context) loadOpener {
	return func(rdb *redis.Client, process int) loadStore {
		return lockupdate.New(rdb, lockupdate.Config{Lease: loadLease, LockOnDemand: onDemand(process)})
	}
}

// loadMember is one store with its clients.
type loadMember struct {
	loadStore
	number  int
	clients []*redis.Client

	turns atomic.Int64 // with the one key
	turn  atomic.Int64 // the number of the last one; 0: none in this part
}

// join opens the store of a process, which has its share of the connections. In a cut-over it moves each key
// at the first update.
func (l *loading) join(process int, open loadOpener) *loadMember {
	share := l.pool / processes
	if process < l.pool%processes {
		share++
	}
	m := &loadMember{number: process + 1}
	var sides []cutover.Side
	for _, env := range l.env.stores() {
		rdb := redis.NewClient(env.loadOptions(share, &l.dials))
		m.clients = append(m.clients, rdb)
		m.loadStore = open(rdb, process)
		sides = append(sides, cutover.Side{Store: m.loadStore, Redis: rdb})
	}
	if len(sides) > 1 {
		store := cutover.New(sides[0], sides[1], cutover.Config{Stage: cutover.Stage{Phase: cutover.Copying, Percent: 100}})
		m.loadStore = movingLoad{store, sides[0].Store.(loadStore), m.loadStore}
	}
	return m
}

// movingLoad is the store of a process in a cut-over.
type movingLoad struct {
	*cutover.Store
	old, next loadStore
}

// Stats implements loadStore: the new store has all locks that last.
func (s movingLoad) Stats() lockupdate.Stats { return s.next.Stats() }

// Close closes the stores of both sides first, so that their callers end.
func (s movingLoad) Close() error {
	return errors.Join(s.old.Close(), s.next.Close(), s.Store.Close())
}

// leave closes the clients.
func (l *loading) leave() error {
	var errs []error
	for _, m := range l.members {
		for _, rdb := range m.clients {
			errs = append(errs, rdb.Close())
		}
		m.clients = nil
	}
	return errors.Join(errs...)
}

// loadOptions are those of proxycompat without relays, with a third of the connections for pipelines. Timeouts
// are longer, since a thousand callers wait for few connections.
func (s *Environment) loadOptions(share int, dials *dials) *redis.Options {
	opts := proxycompat.Options(s.Profile, s.addr)
	if opts.Dialer = dials.dial; s.Profile.Name() != "redis" {
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
	return &dialed{TCPConn: tcp, gone: sync.OnceFunc(func() { d.add(-1) })}, nil
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

// dialed implements syscall.Conn like a TCP connection: go-redis uses it to detect closed connections.
type dialed struct {
	*net.TCPConn
	gone func()
}

func (c *dialed) Close() error {
	c.gone()
	return c.TCPConn.Close()
}
