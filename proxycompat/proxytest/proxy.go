package proxytest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/unwatch/unwatch/proxycompat"
)

// memoryAddr is the address of an in-memory proxy: an IP literal reserved for documentation, so that no
// resolver is used.
const memoryAddr = "192.0.2.1:19000"

// Config configures a Proxy. The zero value is Codis 3.2 in front of one in-process server, on a free TCP
// port of the loopback interface.
type Config struct {
	// Profile is the proxy's behaviour; nil means proxycompat.Codis32().
	Profile *proxycompat.Profile

	// Backends are the addresses of real servers. Empty means in-process
	// miniredis servers, reached in memory.
	Backends []string

	// Engines is the number of in-process servers when Backends is empty; 0
	// means 1. The profile "redis" has exactly one server.
	Engines int

	// Store selects the command set of the servers; the zero value is Lua.
	Store Store

	// Dial connects to Backends; nil means a net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// InMemory disables the TCP listener: clients connect through Proxy.Dial. With in-process servers
	// nothing then uses the network, and the proxy works inside a testing/synctest bubble.
	InMemory bool

	// Password is the password that clients need; empty means none. It is the proxy's own (Codis
	// session_auth), not the servers', unless the profile is that of a server.
	Password string

	// Parallel is the number of connections from the proxy to each backend, over which it spreads the
	// commands of a pipeline regardless of keys (Codis: backend_primary_parallel, twemproxy:
	// server_connections). 0 executes everything in the order received; with 1, commands for one backend
	// keep their order; with more, there is no order. Replies keep their order. A client that waits for
	// each reply sees no difference.
	Parallel int

	// Reorder executes the commands of each pipeline in reverse order; the replies keep their order. It is
	// the worst case of Parallel.
	Reorder bool

	// Seed makes random decisions repeatable.
	Seed uint64

	// ReplicaLag above 0 gives each backend a replica with this lag, and sends it all read-only commands,
	// as Codis does by default when it has replicas. Scripts go to the master. The profile of a server has
	// no replicas.
	ReplicaLag time.Duration

	// AutoEject spreads the keys of a failed backend over the others until it recovers, as auto_eject_hosts
	// of twemproxy does.
	AutoEject bool

	// BackendTimeout is how long the proxy waits for a backend that is asleep, before it answers an error. Default:
	// 400 ms with AutoEject, as in twemproxy's documents, else the 30 s of Codis' backend_recv_timeout.
	BackendTimeout time.Duration
}

// Proxy is a running proxy. All methods are safe for concurrent use.
type Proxy struct {
	cfg      Config
	profile  *proxycompat.Profile
	listener net.Listener
	engines  []*miniredis.Miniredis
	backends []*backend

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup // every goroutine of the proxy

	routing  sync.RWMutex // held for reading while a command is on its way to a slot
	mu       sync.Mutex
	closed   bool
	sessions map[*session]struct{}
	conns    int
	faults   []*armed
	calls    []Call
	owners   map[int]int   // of migrated slots
	moves    map[int]*Move // migrations in progress
}

// Start starts a proxy. The caller must Close it.
func Start(cfg Config) (*Proxy, error) {
	if cfg.Profile == nil {
		cfg.Profile = proxycompat.Codis32()
	}
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	if cfg.BackendTimeout == 0 && cfg.AutoEject {
		cfg.BackendTimeout = 400 * time.Millisecond
	}
	cfg.BackendTimeout = cmp.Or(cfg.BackendTimeout, 30*time.Second)
	p := &Proxy{cfg: cfg, profile: cfg.Profile, sessions: map[*session]struct{}{}, owners: map[int]int{}, moves: map[int]*Move{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for _, addr := range cfg.Backends {
		p.addBackend(func(ctx context.Context) (net.Conn, error) { return cfg.Dial(ctx, "tcp", addr) })
	}
	if len(cfg.Backends) == 0 {
		for range max(cfg.Engines, 1) {
			if err := p.addEngine(); err != nil {
				return nil, fmt.Errorf("proxytest: %w", errors.Join(err, p.Close()))
			}
		}
	}
	if p.transparent() && len(p.backends) != 1 {
		return nil, fmt.Errorf("proxytest: profile %q has exactly one server, not %d", p.profile.Name(), len(p.backends))
	}
	if cfg.ReplicaLag > 0 && !p.transparent() {
		p.addReplicas()
	}
	if cfg.InMemory {
		return p, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxytest: %w", errors.Join(err, p.Close()))
	}
	p.listener = l
	p.wg.Go(p.accept)
	return p, nil
}

func (p *Proxy) addBackend(dial func(ctx context.Context) (net.Conn, error)) *backend {
	b := newBackend(dial)
	p.backends = append(p.backends, b)
	return b
}

func (p *Proxy) addEngine() error {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true) // keys expire by the clock, which is fake in a synctest bubble
	p.engines = append(p.engines, m)
	b := p.addBackend(func(context.Context) (net.Conn, error) { return m.Dial() })
	b.engine, b.watched = true, p.transparent()
	if p.profile.Backend() == (proxycompat.Version{}) {
		return nil
	}
	conn, err := m.Dial() // starts the engine
	if err != nil {
		return err
	}
	m.Server().SetPreHook(p.refuseNewer)
	return conn.Close()
}

// refuseNewer makes an engine reject arguments newer than the profile's version. The hook also runs for
// commands of a script, which the proxy does not see.
func (p *Proxy) refuseNewer(c *server.Peer, command string, args ...string) bool {
	words := append([]string{command}, args...)
	a, newer := p.profile.RuleFor(words...).TooNew(words)
	if !newer || a.Error == "" {
		return false
	}
	c.WriteError(a.Error)
	return true
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.serve(conn, false) != nil {
			return
		}
	}
}

// serve starts a session for a client connection; calm is as in CalmOptions.
func (p *Proxy) serve(conn net.Conn, calm bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.Join(errClosed, conn.Close())
	}
	p.conns++
	s := newSession(p, p.conns, conn)
	s.calm = calm
	p.sessions[s] = struct{}{}
	p.wg.Go(s.read)
	p.wg.Go(func() {
		s.run()
		p.mu.Lock()
		delete(p.sessions, s)
		p.mu.Unlock()
	})
	return nil
}

var errClosed = errors.New("proxytest: proxy is closed")

// Addr returns the address for clients. That of an in-memory proxy is a placeholder, see [Proxy.Dial].
func (p *Proxy) Addr() string {
	if p.listener == nil {
		return memoryAddr
	}
	return p.listener.Addr().String()
}

// Dial returns an in-memory connection (a net.Pipe) to the proxy. It fits the Dialer of redis.Options;
// network and addr are ignored.
func (p *Proxy) Dial(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx, false) }

func (p *Proxy) dial(ctx context.Context, calm bool) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	client, server := net.Pipe()
	if err := p.serve(server, calm); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return pipeConn{client}, nil
}

// Options returns go-redis options for a client of this proxy: [proxycompat.Options], the address, the
// password, and the in-memory dialer if there is no listener. The caller may change them.
func (p *Proxy) Options() *redis.Options {
	o := proxycompat.Options(p.profile, p.Addr())
	o.Password = p.cfg.Password
	if p.transparent() {
		o.Protocol = 2
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		if p.cfg.InMemory {
			o.Dialer = p.Dial
		}
		return o
	}
	if p.cfg.InMemory {
		o.Dialer = proxycompat.HelloDialer(p.Dial)
	}
	return o
}

// CalmOptions is like [Proxy.Options] for a client that inspects stored data: its commands are executed in
// order and by the masters, without the faults of Config.
func (p *Proxy) CalmOptions() *redis.Options {
	o := p.Options()
	o.Dialer = proxycompat.HelloDialer(func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx, true) })
	return o
}

// Backends returns the number of backends.
func (p *Proxy) Backends() int { return len(p.backends) }

// Engine returns in-process server i, to read or change stored data. It panics if there is no such server;
// [Config.Backends] have no engines. Do not Close it: use [Proxy.Down].
func (p *Proxy) Engine(i int) *miniredis.Miniredis { return p.engines[i] }

// Close cuts all connections, stops the in-process servers and waits for all goroutines of the proxy. It
// cancels pending executions (ExecuteLater). A second Close does nothing.
func (p *Proxy) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	for s := range p.sessions {
		s.cut()
	}
	p.mu.Unlock()

	p.cancel()
	var err error
	if p.listener != nil {
		err = p.listener.Close()
	}
	for _, b := range p.backends {
		b.close()
		if b.replica != nil {
			b.replica.close()
		}
	}
	p.wg.Wait()
	for _, m := range p.engines {
		m.Close()
	}
	for _, b := range p.backends {
		if b.replica != nil {
			b.replica.engine.Close()
		}
	}
	return err
}

// transparent reports whether the profile is that of a server, so that the proxy only relays.
func (p *Proxy) transparent() bool { return p.profile.Server() }

// codis reports whether error texts and local replies are those of Codis.
func (p *Proxy) codis() bool { return p.profile.Hash() == "codis" }

// closes reports whether the proxy closes the connection instead of returning errors, as twemproxy does.
func (p *Proxy) closes() bool { return p.profile.RefusalText("NO-SUCH-COMMAND") == "" }
