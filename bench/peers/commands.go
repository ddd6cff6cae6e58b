package peers

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"syscall"
)

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// counting returns dial with every command that its connections send counted in n.
func counting(n *atomic.Int64, dial dialFunc) dialFunc {
	if n == nil {
		return dial
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		raw, ok := conn.(syscall.Conn) // go-redis checks an idle connection through it
		if !ok {
			return &countingConn{Conn: conn, n: n}, nil
		}
		return struct {
			*countingConn
			syscall.Conn
		}{&countingConn{Conn: conn, n: n}, raw}, nil
	}
}

// countingConn counts below the client, so that it sees commands of every kind and costs
// the client no allocation.
type countingConn struct {
	net.Conn
	n *atomic.Int64
}

// Write takes a "*" at the beginning of a line for the beginning of a command: the
// documents of the bench have one line.
func (c *countingConn) Write(p []byte) (int, error) {
	n := bytes.Count(p, []byte("\n*"))
	if len(p) > 0 && p[0] == '*' {
		n++
	}
	c.n.Add(int64(n))
	return c.Conn.Write(p)
}
