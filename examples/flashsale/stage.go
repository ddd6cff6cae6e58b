package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// reachable is how long a server may take to answer before we say that it does
// not.
const reachable = 3 * time.Second

// stage is the proxy that the sale takes place behind: in this process, or a real
// one.
type stage struct {
	addr      string
	prefix    string
	rdb       *redis.Client    // for what happens before and after a sale
	inProcess *proxytest.Proxy // or nil
}

// newStage starts the proxy, or finds out whether the given one answers.
func newStage(ctx context.Context, cfg config) (*stage, error) {
	s := &stage{addr: cfg.proxy, prefix: cfg.prefix}
	if s.prefix == "" {
		id := make([]byte, 6)
		_, _ = rand.Read(id) // never fails
		s.prefix = "unwatch-flashsale:" + hex.EncodeToString(id) + ":"
	}
	if s.addr == "" {
		p, err := proxytest.Start(proxytest.Config{Profile: cfg.profile})
		if err != nil {
			return nil, err
		}
		s.inProcess, s.addr = p, p.Addr()
	}
	o := proxycompat.Options(cfg.profile, s.addr)
	o.ReadTimeout = reachable // while it reads, go-redis does not notice Ctrl-C
	o.ContextTimeoutEnabled = true
	s.rdb = redis.NewClient(o)
	s.rdb.AddHook(proxycompat.Hook(cfg.profile))
	if err := s.reach(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// reach asks the proxy whether it is there.
func (s *stage) reach(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, reachable)
	defer cancel()
	// Before the client tries, and tries again, and says only that time is up.
	conn, err := new(net.Dialer).DialContext(limited, "tcp", s.addr)
	if err == nil {
		_ = conn.Close()
		err = s.rdb.Ping(limited).Err()
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err // without the layers of a dial error
	}
	return fmt.Errorf("cannot reach the proxy at %s: %w\nCheck that it runs and listens there, that no firewall is in between,\n"+
		"and that it wants no password. Without -proxy, no server is needed", s.addr, err)
}

func (s *stage) key(round string) string { return s.prefix + round }

// open puts the stock up for sale.
func (s *stage) open(ctx context.Context, key string, stock int) error {
	raw, err := json.Marshal(sale{Left: stock})
	if err == nil {
		err = s.rdb.Set(ctx, key, raw, keep).Err()
	}
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("open the sale: %w", err)
	}
	return err
}

// load reads what is stored, by a script of its own: so none of the shops has a hand
// in it, and no proxy asks a replica, which may be behind.
func (s *stage) load(ctx context.Context, key string) (sale, error) {
	var stored sale
	raw, err := s.rdb.Eval(ctx, `return redis.call("GET", KEYS[1])`, []string{key}).Text()
	if err == nil {
		err = json.Unmarshal([]byte(raw), &stored)
	}
	if errors.Is(err, redis.Nil) {
		return stored, nil // all is gone, and the audit will say so
	}
	if err != nil {
		err = fmt.Errorf("audit: read the sale: %w", err)
	}
	return stored, err
}

// clear deletes what a round has stored.
func (s *stage) clear(ctx context.Context, key string) error {
	if s.inProcess != nil {
		return nil // it ends with us
	}
	for _, k := range []string{key, key + ":lock", doors(key)} { // one DEL a key: a proxy may split what has several
		if err := s.rdb.Del(ctx, k).Err(); err != nil {
			return fmt.Errorf("delete %s: %w; it expires within %v", k, err, keep)
		}
	}
	return nil
}

// forget lets the in-process proxy forget what it was sent: it keeps that for
// tests.
func (s *stage) forget() {
	if s.inProcess != nil {
		s.inProcess.ResetCalls()
	}
}

func (s *stage) close() error {
	err := s.rdb.Close()
	if s.inProcess != nil {
		err = errors.Join(err, s.inProcess.Close())
	}
	return err
}
