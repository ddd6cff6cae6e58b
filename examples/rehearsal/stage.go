package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

const (
	// reachable is the time limit for the first reply of a server.
	reachable = 3 * time.Second

	// patient limits a command, and a call of the candidate. It is long, since a slow machine must
	// not look like a difference.
	patient = time.Minute
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
	keys       sync.Map // every key that was sent
}

// client returns a client; t counts its commands, but for those that a hook refuses.
func (e *endpoint) client(t *traffic, hooks ...redis.Hook) *redis.Client {
	t.keys = &e.keys
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
		o, bad := redis.ParseURL(cfg.legacy)
		if bad != nil { // its text may have the password
			return nil, usage{errors.New("-legacy is no URL of a Redis; use redis://HOST:PORT, with % written as %25")}
		}
		s.use(o, cfg.proxy)
	} else if err = s.start(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if err = cmp.Or(s.legacy.reach(ctx), s.proxy.reach(ctx)); err != nil {
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

func (s *stage) use(legacy *redis.Options, proxy string) {
	legacy.Protocol = 2
	legacy.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	s.legacy = &endpoint{name: "the legacy Redis", addr: legacy.Addr, options: func() *redis.Options {
		o := *legacy // go-redis sets defaults in it
		return &o
	}}
	s.proxy = &endpoint{name: "the proxy", addr: proxy, options: func() *redis.Options { return proxycompat.Options(s.profile, proxy) }}
}

// reach checks that a server replies.
func (e *endpoint) reach(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, reachable)
	defer cancel()
	o := e.options()
	o.MaxRetries, o.DialerRetries = -1, 1 // retries would hide the error
	o.ReadTimeout = reachable             // go-redis ignores ctx while it reads
	rdb := redis.NewClient(o)
	defer rdb.Close() //nolint:errcheck // has no effect on the run
	err := rdb.Ping(limited).Err()
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
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

// empty deletes all keys of the in-process servers, since their commands take time per stored key.
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
	if s.real {
		err = errors.Join(s.clear(s.legacy), s.clear(s.proxy))
	}
	return err
}

// clear deletes every key that was sent to a server, and the decisions of updates of several keys. It has no ctx, to work after Ctrl-C.
func (s *stage) clear(e *endpoint) (err error) {
	rdb := redis.NewClient(e.options())
	defer rdb.Close() //nolint:errcheck // has no effect on the run
	e.keys.Range(func(key, _ any) bool {
		if name := key.(string); strings.Contains(name, s.prefix) {
			err = rdb.Del(context.Background(), name).Err()
		}
		return err == nil
	})
	if err != nil {
		err = fmt.Errorf("delete %s…: %w; the remaining keys expire within an hour, except the lists of acts C and F", s.prefix, err)
	}
	return err
}
