package peers

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"syscall"
)

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// counting returns a dial function; its connections count their commands in n.
func counting(n *atomic.Int64, dial dialFunc) dialFunc {
	if n == nil {
		return dial
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		raw, ok := conn.(syscall.Conn) // go-redis checks idle connections through it
		if !ok {
			return &countingConn{Conn: conn, n: n}, nil
		}
		return struct {
			*countingConn
			syscall.Conn
		}{&countingConn{Conn: conn, n: n}, raw}, nil
	}
}

// countingConn counts commands below the client, so it counts all kinds of commands and causes no
// allocation in the client.
type countingConn struct {
	net.Conn
	n *atomic.Int64
}

// Write counts each "*" at the beginning of a line as a command. Documents of the bench have no
// line breaks.
func (c *countingConn) Write(p []byte) (int, error) {
	n := bytes.Count(p, []byte("\n*"))
	if len(p) > 0 && p[0] == '*' {
		n++
	}
	c.n.Add(int64(n))
	return c.Conn.Write(p)
}
