package proxytest

import (
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

// memoryAddr is what an in-memory proxy calls its address: an IP literal, so
// that nothing asks a resolver, from the range kept for documentation.
const memoryAddr = "192.0.2.1:19000"

// Config says which proxy to be. The zero value is Codis 3.2 in front of one
// in-process server, on a free TCP port of the loopback interface.
type Config struct {
	// Profile is the proxy's behaviour; nil means proxycompat.Codis32().
	Profile *proxycompat.Profile

	// Backends are the addresses of real servers. Empty means in-process
	// miniredis servers, reached in memory.
	Backends []string

	// Engines is the number of in-process servers when Backends is empty; 0
	// means 1. The profile "redis" has exactly one server.
	Engines int

	// Store is which store the servers are to be; the zero value is Lua.
	Store Store

	// Dial connects to Backends; nil means a net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// InMemory means no TCP listener: clients connect through Proxy.Dial. With
	// in-process servers nothing then touches the network, and the whole works
	// inside a testing/synctest bubble.
	InMemory bool

	// Password is what clients have to AUTH with; empty means none. It is the
	// proxy's own (Codis session_auth), not the servers', and also that of a profile
	// that is a server itself.
	Password string

	// Parallel is the number of connections that the proxy has to each backend, and
	// among which it spreads the commands of a pipeline whatever their keys (Codis:
	// backend_primary_parallel, twemproxy: server_connections). 0 executes everything in
	// the order in which it came; with 1, what goes to the same backend keeps its order;
	// with more, nothing does. Replies keep theirs. Who waits for each reply sees no
	// difference.
	Parallel int

	// Reorder executes the commands of each pipeline back to front, while the
	// replies keep their order: the worst that Parallel can do.
	Reorder bool

	// Seed decides what is left to chance, so that a run can be repeated.
	Seed uint64

	// ReplicaLag above 0 gives each backend a replica that is behind by so much, and
	// has it answer all commands that only read, as Codis does by default once it has
	// replicas. Scripts go to the master. A profile that is a server itself has none.
	ReplicaLag time.Duration

	// AutoEject spreads the keys of a backend that fails over the others for as long as
	// it does, as twemproxy's auto_eject_hosts.
	AutoEject bool
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
	owners   map[int]int   // of slots that have been moved
	moves    map[int]*Move // of slots that are being moved
}

// Start starts a proxy. Close it when done.
func Start(cfg Config) (*Proxy, error) {
	if cfg.Profile == nil {
		cfg.Profile = proxycompat.Codis32()
	}
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
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
	m.ClockTTL(true) // keys expire as time passes, which in a synctest bubble is fake time
	p.engines = append(p.engines, m)
	p.addBackend(func(context.Context) (net.Conn, error) { return m.Dial() }).engine = true
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

// refuseNewer makes an engine as old as the profile says. The hook also runs for what a
// script calls, which the proxy does not see.
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

// Addr returns the address that clients connect to. For an in-memory proxy it
// is only a name, see [Proxy.Dial].
func (p *Proxy) Addr() string {
	if p.listener == nil {
		return memoryAddr
	}
	return p.listener.Addr().String()
}

// Dial returns an in-memory connection (a net.Pipe) to the proxy. It fits the
// Dialer of redis.Options; network and addr are not looked at.
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

// Options returns go-redis options with which a client can use this proxy:
// [proxycompat.Options], the address, the password, and the in-memory dialer
// if there is no listener. They are the caller's to change.
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

// CalmOptions is like [Proxy.Options], for a client that looks at what is stored: its
// commands are executed in order and by the masters, whatever the others have to bear.
func (p *Proxy) CalmOptions() *redis.Options {
	o := p.Options()
	o.Dialer = proxycompat.HelloDialer(func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx, true) })
	return o
}

// Backends returns the number of backends.
func (p *Proxy) Backends() int { return len(p.backends) }

// Engine returns in-process server i, to look at or change what is stored.
// It panics if there is no such server; [Config.Backends] have no engines.
// Do not Close it: use [Proxy.Down].
func (p *Proxy) Engine(i int) *miniredis.Miniredis { return p.engines[i] }

// Close cuts all connections, stops the in-process servers and waits for every
// goroutine that the proxy started. Delayed executions that are still due
// (ExecuteLater) do not take place any more. A second Close does nothing.
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

// transparent reports whether the proxy only relays: it is the server itself.
func (p *Proxy) transparent() bool { return p.profile.Server() }

// codis reports whether errors and local answers are worded as Codis words them.
func (p *Proxy) codis() bool { return p.profile.Hash() == "codis" }

// closes reports whether the proxy never says no, as twemproxy: it closes the connection.
func (p *Proxy) closes() bool { return p.profile.RefusalText("NO-SUCH-COMMAND") == "" }
