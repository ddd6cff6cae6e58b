// Package meter counts the round trips and bytes of a client's connections. It works below the client, so
// that it includes handshakes and retries.
package meter

import (
	"context"
	"net"
	"sync/atomic"
)

// DialFunc is the Dialer of go-redis' options.
type DialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// Meter counts over all the connections it has dialled. It is safe for concurrent
// use.
type Meter struct {
	roundTrips, sent, received atomic.Int64
}

// Count is a reading.
type Count struct {
	RoundTrips    int64 // writes to a connection that were followed by a read
	BytesSent     int64
	BytesReceived int64
}

// Sub returns the difference from an earlier count.
func (c Count) Sub(before Count) Count {
	return Count{c.RoundTrips - before.RoundTrips, c.BytesSent - before.BytesSent, c.BytesReceived - before.BytesReceived}
}

// Read returns the count so far.
func (m *Meter) Read() Count {
	return Count{m.roundTrips.Load(), m.sent.Load(), m.received.Load()}
}

// Dialer returns dial with every connection metered.
func (m *Meter) Dialer(dial DialFunc) DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &meteredConn{Conn: conn, m: m}, nil
	}
}

// meteredConn counts one connection. Writing while replies arrive would blur round trips; go-redis'
// pipelines do not do that.
type meteredConn struct {
	net.Conn
	m     *Meter
	asked atomic.Bool // written to since the last answer
}

func (c *meteredConn) Write(p []byte) (int, error) {
	c.asked.Store(true)
	n, err := c.Conn.Write(p)
	c.m.sent.Add(int64(n))
	return n, err
}

func (c *meteredConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.asked.CompareAndSwap(true, false) {
		c.m.roundTrips.Add(1)
	}
	c.m.received.Add(int64(n))
	return n, err
}
