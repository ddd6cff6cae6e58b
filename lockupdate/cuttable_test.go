package lockupdate_test

import (
	"context"
	"errors"
	"net"
	"sync"
)

// cuttable is a client's network, which can be cut.
type cuttable struct {
	mu    sync.Mutex
	isCut bool
	conns []net.Conn
}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

func (c *cuttable) dialer(next dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.isCut {
			return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("the network is cut")}
		}
		conn, err := next(ctx, network, addr)
		if err == nil {
			c.conns = append(c.conns, conn)
		}
		return conn, err
	}
}

func (c *cuttable) cut() (restore func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = true
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.isCut = false
	}
}
