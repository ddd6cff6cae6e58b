package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/unwatch/unwatch/examples/rehearsal/internal/wire"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// reachable is the time limit for the first reply of a server.
const reachable = 3 * time.Second

// stage has a Redis and a proxy, in this process or real ones.
type stage struct {
	profile *proxycompat.Profile
	keys    keys
	real    bool
	ping    time.Duration // average reply time of the proxy, updated by measured

	legacy, proxy endpoint
	inProcess     []*proxytest.Proxy
	engines       []*miniredis.Miniredis // servers behind them
}

// endpoint makes clients of one server.
type endpoint struct {
	name    string // for display
	addr    string
	options func() *redis.Options
	dial    wire.Dial                 // the bare connection
	wrap    func(wire.Dial) wire.Dial // wraps dial for the client
}

// client returns a client whose connections belong to p.
func (e endpoint) client(p *wire.Process) *redis.Client {
	o := e.options()
	o.Dialer = e.wrap(p.Dialer(e.dial))
	return redis.NewClient(o)
}

func bare(d wire.Dial) wire.Dial { return d }

// newStage starts the servers, or checks that the given ones reply.
func newStage(ctx context.Context, cfg config) (*stage, error) {
	s := &stage{
		profile: cfg.profile,
		keys:    keys{prefix: cfg.prefix, ttl: 10 * time.Minute},
		real:    cfg.proxy != "",
	}
	if s.keys.prefix == "" {
		id := make([]byte, 6)
		_, _ = rand.Read(id) // never fails
		s.keys.prefix = "unwatch-rehearsal:" + hex.EncodeToString(id) + ":"
	}
	start := s.startInProcess
	if s.real {
		start = func() error { return s.useReal(cfg) }
	}
	err := start()
	if err == nil {
		err = s.reach(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// startInProcess starts all servers in this process, on loopback TCP.
func (s *stage) startInProcess() error {
	engines := 4 // servers behind the proxy
	if s.profile.Hash() == "none" {
		engines = 1
	}
	plain, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis()})
	if err != nil {
		return err
	}
	s.inProcess = append(s.inProcess, plain)
	proxy, err := proxytest.Start(proxytest.Config{Profile: s.profile, Engines: engines})
	if err != nil {
		return err
	}
	s.inProcess = append(s.inProcess, proxy)
	s.engines = append(s.engines, plain.Engine(0))
	for i := range engines {
		s.engines = append(s.engines, proxy.Engine(i))
	}
	s.useLegacy("the in-process Redis", &redis.Options{Addr: plain.Addr()})
	s.useProxy("the in-process proxy", proxy.Addr())
	return nil
}

func (s *stage) useReal(cfg config) error {
	o, err := redis.ParseURL(cfg.legacy)
	if err != nil {
		if parse, ok := errors.AsType[*url.Error](err); ok {
			err = parse.Err // omits the URL with its password
		}
		if _, ok := errors.AsType[url.EscapeError](err); ok {
			err = errors.New("bad escape; write % as %25")
		}
		return usage{fmt.Errorf("-legacy %s: %w", hidePassword(cfg.legacy), err)}
	}
	s.useLegacy("the legacy Redis", o)
	s.useProxy("the proxy", cfg.proxy)
	return nil
}

func (s *stage) useLegacy(name string, o *redis.Options) {
	o.Protocol = 2
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	dial := wire.Dial((&net.Dialer{Timeout: reachable}).DialContext)
	if o.TLSConfig != nil { // the custom Dialer replaces the TLS dialer of go-redis
		dial = (&tls.Dialer{Config: o.TLSConfig}).DialContext
	}
	s.legacy = endpoint{name: name, addr: o.Addr, dial: dial, wrap: bare, options: func() *redis.Options {
		c := *o // go-redis sets defaults in it
		c.ReadTimeout, c.WriteTimeout = cmp.Or(c.ReadTimeout, patient), cmp.Or(c.WriteTimeout, patient)
		return &c
	}}
}

func (s *stage) useProxy(name, addr string) {
	s.proxy = endpoint{
		name: name, addr: addr, dial: (&net.Dialer{Timeout: reachable}).DialContext, wrap: proxycompat.HelloDialer,
		options: func() *redis.Options {
			o := proxycompat.Options(s.profile, addr)
			o.ReadTimeout, o.WriteTimeout = patient, patient
			return o
		},
	}
}

// reach checks that both servers reply.
func (s *stage) reach(ctx context.Context) error {
	for _, e := range []endpoint{s.legacy, s.proxy} {
		var err error
		if s.ping, err = e.reach(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reach returns the time of a reply.
func (e endpoint) reach(ctx context.Context) (time.Duration, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	patient := e.options
	e.options = func() *redis.Options {
		o := patient()
		o.ReadTimeout = reachable // go-redis ignores ctx while it reads
		return o
	}
	rdb := e.client(wire.NewProcess(nil))
	defer rdb.Close() //nolint:errcheck // has no effect on the run
	limited, cancel := context.WithTimeout(ctx, reachable)
	defer cancel()
	// The client would retry, and return only a timeout.
	conn, err := e.dial(limited, "tcp", e.addr)
	if err == nil {
		_ = conn.Close()
		err = rdb.Ping(limited).Err()
	}
	fastest := reachable
	for range 3 { // on an open connection
		began := time.Now()
		if err == nil {
			err = rdb.Ping(limited).Err()
		}
		fastest = min(fastest, time.Since(began))
	}
	switch {
	case err == nil:
		return fastest, nil
	case ctx.Err() != nil:
		return 0, ctx.Err()
	}
	return 0, fmt.Errorf("cannot reach %s at %s: %w\nCheck that it runs and listens there, that no firewall is in between,\n"+
		"and that it wants no password, or the one in the URL", e.name, e.addr, shortError(err))
}

// shortError returns the innermost error of a dial.
func shortError(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// clear deletes the keys of one part of the rehearsal.
func (s *stage) clear(e endpoint, k keys, names []string) error {
	var stored []string
	for _, name := range names {
		stored = append(stored, k.room(name), k.lock(k.room(name)), k.last(name), k.count(name))
	}
	return s.remove(e, k, stored)
}

// measured updates ping with the reply times under load.
func (s *stage) measured(e endpoint, sent wire.Stats) {
	if e.addr == s.proxy.addr && sent.RoundTrips > 0 {
		s.ping = max(s.ping, sent.Waited/time.Duration(sent.RoundTrips))
	}
}

// remove deletes these keys.
func (s *stage) remove(e endpoint, k keys, stored []string) error {
	if !s.real {
		return nil // the servers end with this process
	}
	// Without the ctx of the run, to work after Ctrl-C.
	ctx, cancel := context.WithTimeout(context.Background(), 2*reachable)
	defer cancel()
	rdb := e.client(wire.NewProcess(nil))
	defer rdb.Close() //nolint:errcheck // has no effect on the run
	for part := range slices.Chunk(stored, 4*batch) {
		pipe := rdb.Pipeline() // one DEL per key, since a proxy splits larger ones
		for _, key := range part {
			pipe.Del(ctx, key)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("delete %s…: %w; what is left expires within %v", k.prefix, err, k.ttl)
		}
	}
	return nil
}

// forget clears the commands that in-process servers record for tests.
func (s *stage) forget() {
	for _, p := range s.inProcess {
		p.ResetCalls()
	}
}

// empty deletes all keys of the in-process servers, whose commands take time per stored key.
func (s *stage) empty() {
	for _, engine := range s.engines {
		engine.FlushAll()
	}
}

func (s *stage) close() error {
	var errs []error
	for _, p := range s.inProcess {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// hidePassword removes the user info from a URL.
func hidePassword(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if at := strings.LastIndexByte(rest, '@'); ok && at >= 0 {
		return scheme + "://…@" + rest[at+1:]
	}
	return address
}
