package contract

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Network is a client's network, which can be disturbed. The zero Network works.
type Network struct {
	mu     sync.Mutex
	isCut  bool
	isMute bool // replies are lost
	isLate bool // what the client writes is held back
	isHole bool // dials hang
	conns  []*conn
}

// DialFunc is how a client dials.
type DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// Dialer dials by next while the network is whole.
func (n *Network) Dialer(next DialFunc) DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if n.cut() {
			return nil, errCut
		}
		if n.hole() {
			<-ctx.Done()
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: ctx.Err()}
		}
		opened, err := next(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.isCut {
			_ = opened.Close()
			return nil, errCut
		}
		c := &conn{Conn: opened, network: n}
		n.conns = append(n.conns, c)
		if raw, ok := opened.(syscall.Conn); ok {
			return struct {
				*conn
				syscall.Conn
			}{c, raw}, nil
		}
		return c, nil
	}
}

var errCut = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("the network is cut")}

func (n *Network) cut() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.isCut
}

func (n *Network) hole() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.isHole
}

// Swallow loses what is written to the present connections from now on, and what arrives on them, as a
// balancer does that has dropped them without a word. New ones work.
func (n *Network) Swallow() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		c.swallowed = true
	}
}

// Hole is Swallow, and new dials hang until their ctx ends, until restore is called.
func (n *Network) Hole() (restore func()) {
	n.Swallow()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.isHole = true
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.isHole = false
	}
}

// Reset has each write to the present connections fail, as after a RST of the peer. New ones work.
func (n *Network) Reset() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		c.reset = true
	}
}

// Cut breaks all connections and refuses new ones until restore is called.
func (n *Network) Cut() (restore func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.isCut = true
	n.breakLocked()
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.isCut = false
	}
}

// Break breaks all connections. New ones work.
func (n *Network) Break() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.breakLocked()
}

func (n *Network) breakLocked() {
	for _, c := range n.conns {
		_ = c.Conn.Close()
	}
	n.conns = nil
}

// LoseReplies breaks each connection when something arrives on it, until restore is called. So
// the server has executed the request, and its reply is lost. A new connection breaks at its
// handshake.
func (n *Network) LoseReplies() (restore func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.isMute = true
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.isMute = false
	}
}

// Delay holds back what the client writes until deliver is called, also if the client closes
// the connection meanwhile. A connection that was closed is closed a second after deliver has
// written what was held back, or when the server closes it.
func (n *Network) Delay() (deliver func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.isLate = true
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.isLate = false
		for _, c := range slices.Clone(n.conns) {
			c.deliverLocked()
		}
	}
}

// conn is a connection of a Network.
type conn struct {
	net.Conn

	network *Network
	held    []byte // written, and held back; guarded by the Network's mutex
	closed  bool   // by the client, while something is held back; guarded as held

	swallowed, reset bool // guarded as held
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	for err == nil && c.isSwallowed() {
		n, err = c.Conn.Read(b)
	}
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	if n > 0 && c.network.isMute {
		_ = c.Conn.Close()
		return 0, &net.OpError{Op: "read", Net: "tcp", Err: errors.New("the reply is lost")}
	}
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	c.network.mu.Lock()
	late, lost, reset := c.network.isLate, c.swallowed, c.reset
	if late {
		c.held = append(c.held, b...)
	}
	c.network.mu.Unlock()
	switch {
	case reset:
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
	case late || lost:
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *conn) isSwallowed() bool {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	return c.swallowed
}

func (c *conn) Close() error {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	if len(c.held) > 0 {
		c.closed = true
		return c.Conn.SetDeadline(time.Unix(1, 0)) // a pending read returns
	}
	c.forgetLocked()
	return c.Conn.Close()
}

func (c *conn) forgetLocked() {
	c.network.conns = slices.DeleteFunc(c.network.conns, func(other *conn) bool { return other == c })
}

func (c *conn) deliverLocked() {
	if len(c.held) == 0 {
		return
	}
	held := c.held
	c.held = nil
	if !c.closed {
		_, _ = c.Conn.Write(held)
		return
	}
	c.forgetLocked()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	_, _ = c.Conn.Write(held)
	go func() { // a reply that is not read resets the connection, and with it the request
		defer func() { _ = c.Conn.Close() }()
		for buf := make([]byte, 1024); ; {
			if _, err := c.Conn.Read(buf); err != nil {
				return
			}
		}
	}()
}
