package contract

import (
	"context"
	"errors"
	"net"
	"sync"
)

// Network is a client's network, which can be cut. The zero Network works.
type Network struct {
	mu    sync.Mutex
	isCut bool
	conns []net.Conn
}

// DialFunc is how a client dials.
type DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// Dialer dials by next while the network is whole.
func (n *Network) Dialer(next DialFunc) DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.isCut {
			return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("the network is cut")}
		}
		conn, err := next(ctx, network, addr)
		if err == nil {
			n.conns = append(n.conns, conn)
		}
		return conn, err
	}
}

// Cut breaks all connections and refuses new ones until restore is called.
func (n *Network) Cut() (restore func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.isCut = true
	for _, conn := range n.conns {
		_ = conn.Close()
	}
	n.conns = nil
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.isCut = false
	}
}
