package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

const (
	// reachable is the time limit for the first reply of a server.
	reachable = 3 * time.Second

	// patient limits a command, a call of the candidate, and the wait of lockstep for a call of
	// another process. It is long, since a slow machine must not look like a difference.
	patient = time.Minute

	// batch is the number of commands per pipeline, which proxies limit.
	batch = 200
)

// stage has a Redis and a proxy, in this process or real ones.
type stage struct {
	profile       *proxycompat.Profile
	prefix        string // of all keys
	real          bool
	legacy, proxy *endpoint
	inProcess     []*proxytest.Proxy
}

// endpoint makes clients of one server.
type endpoint struct {
	name, addr string
	options    func() *redis.Options
	keys       *keys
}

// client returns a client whose commands t counts, but for those that a hook refuses.
func (e *endpoint) client(t *traffic, hooks ...redis.Hook) *redis.Client {
	t.keys = e.keys
	o := e.options()
	o.ReadTimeout, o.WriteTimeout = cmp.Or(o.ReadTimeout, patient), cmp.Or(o.WriteTimeout, patient)
	rdb := redis.NewClient(o)
	for _, hook := range append(hooks, t) {
		rdb.AddHook(hook)
	}
	return rdb
}

// newStage starts the servers, or checks that the given ones reply.
func newStage(ctx context.Context, cfg config) (s *stage, err error) {
	s = &stage{profile: cfg.profile, prefix: cfg.prefix, real: cfg.proxy != ""}
	if s.prefix == "" {
		s.prefix = "unwatch-rehearsal:" + strings.ToLower(rand.Text()[:12]) + ":"
	}
	if s.real {
		err = s.useReal(cfg)
	} else {
		err = s.start()
	}
	for _, e := range []*endpoint{s.legacy, s.proxy} {
		if err == nil {
			err = e.reach(ctx)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// start starts all servers in this process, on loopback TCP.
func (s *stage) start() error {
	engines := 4 // servers behind the proxy
	if s.profile.Hash() == "none" {
		engines = 1
	}
	for _, c := range []proxytest.Config{{Profile: proxycompat.Redis()}, {Profile: s.profile, Engines: engines}} {
		p, err := proxytest.Start(c)
		if err != nil {
			return err
		}
		s.inProcess = append(s.inProcess, p)
	}
	s.use(&redis.Options{Addr: s.inProcess[0].Addr()}, s.inProcess[1].Addr())
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
	s.use(o, cfg.proxy)
	return nil
}

// hidePassword removes the user info from a URL.
func hidePassword(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if at := strings.LastIndexByte(rest, '@'); ok && at >= 0 {
		return scheme + "://…@" + rest[at+1:]
	}
	return address
}

func (s *stage) use(legacy *redis.Options, proxy string) {
	legacy.Protocol = 2
	legacy.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	s.legacy = &endpoint{"the legacy Redis", legacy.Addr, func() *redis.Options {
		o := *legacy // go-redis sets defaults in it
		return &o
	}, newKeys(s.prefix)}
	s.proxy = &endpoint{"the proxy", proxy, func() *redis.Options {
		return proxycompat.Options(s.profile, proxy)
	}, newKeys(s.prefix)}
}

// reach checks that a server replies.
func (e *endpoint) reach(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, reachable)
	defer cancel()
	// The client would retry, and return only a timeout.
	conn, err := (&net.Dialer{}).DialContext(limited, "tcp", e.addr)
	if err == nil {
		_ = conn.Close()
		o := e.options()
		o.ReadTimeout = reachable // go-redis ignores ctx while it reads
		rdb := redis.NewClient(o)
		defer rdb.Close() //nolint:errcheck // has no effect on the run
		err = rdb.Ping(limited).Err()
	}
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return fmt.Errorf("cannot reach %s at %s: %w\nCheck that it runs and listens there, that no firewall is in between,\n"+
		"and that it wants no password, or the one in the URL", e.name, e.addr, err)
}

// forget clears the commands that in-process servers record for tests.
func (s *stage) forget() {
	for _, p := range s.inProcess {
		p.ResetCalls()
	}
}

// empty deletes all keys of the in-process servers, whose commands take time per stored key.
func (s *stage) empty() {
	for _, p := range s.inProcess {
		for i := range p.Backends() {
			p.Engine(i).FlushAll()
		}
	}
}

// close stops the servers of this process, and deletes all keys of the run on real ones.
func (s *stage) close() (err error) {
	for _, p := range s.inProcess {
		err = errors.Join(err, p.Close())
	}
	if s.real && s.proxy != nil {
		err = errors.Join(s.legacy.clear(), s.proxy.clear())
	}
	return err
}

// clear deletes every key that was sent to a server.
func (e *endpoint) clear() error {
	if len(e.keys.sent) == 0 {
		return nil
	}
	// Without the ctx of the run, to work after Ctrl-C.
	ctx, cancel := context.WithTimeout(context.Background(), 10*reachable)
	defer cancel()
	rdb := redis.NewClient(e.options())
	defer rdb.Close() //nolint:errcheck // has no effect on the run
	for part := range slices.Chunk(slices.Collect(maps.Keys(e.keys.sent)), batch) {
		pipe := rdb.Pipeline() // one DEL per key, since a proxy splits larger ones
		for _, key := range part {
			pipe.Del(ctx, key)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("delete %s…: %w; what is left expires within an hour", e.keys.prefix, err)
		}
	}
	return nil
}
