package proxycompat

import (
	"bytes"
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/resp"
)

// DialFunc is the Dialer of redis.Options.
type DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// HelloDialer returns a dialer whose connections answer HELLO themselves, as
// long as nothing else has been sent. Everything else goes through untouched.
//
// go-redis v9 opens every connection with HELLO, whatever the options say.
// twemproxy closes the connection on it, so without this go-redis cannot
// connect at all; Codis forwards it into a server connection that other
// clients share, and HELLO 3 breaks that connection for all of them.
//
// HELLO and HELLO 2 are answered with a RESP2 description of a server. HELLO
// with another version, with AUTH or with SETNAME is answered with an error,
// because what it asks for was not done; go-redis then stays on RESP2 and
// sends a plain AUTH, which is forwarded. HELLO may arrive in any number of
// writes, also together with later commands.
//
// inner opens the connection; nil means a plain net.Dialer. For TLS pass a
// tls.Dialer's DialContext. The connections are as safe for concurrent use as
// the inner ones.
func HelloDialer(inner DialFunc) DialFunc {
	if inner == nil {
		inner = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := inner(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return keepSyscall(newHelloConn(conn), conn), nil
	}
}

// helloConn answers HELLO at the start of a connection. Until the first other
// command no server has anything to say, so reads wait for our own answers
// only; after it both directions belong to the inner connection.
type helloConn struct {
	net.Conn

	writing sync.Mutex // keeps writes in order; never held by Close or Read

	mu       sync.Mutex // guards what follows; never held while the network is waited for
	through  bool       // the first other command was seen
	closed   bool
	pending  []byte        // bytes that may still become a HELLO
	answers  []byte        // answers not yet read
	changed  chan struct{} // closed and replaced whenever one of the above changes
	deadline time.Time     // for reads
}

func newHelloConn(inner net.Conn) *helloConn {
	return &helloConn{Conn: inner, changed: make(chan struct{})}
}

func (c *helloConn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	send, held, err := c.sift(p)
	if err != nil {
		return 0, err
	}
	if len(send) == 0 {
		return len(p), nil
	}
	n, err := c.Conn.Write(send)
	if err == nil {
		return len(p), nil
	}
	// Of p itself, so many bytes went out.
	return min(max(n-held, 0), len(p)), err
}

// sift takes the leading HELLOs out of what was written so far and returns
// what is left to send, held bytes of which are from before p (negative when
// a HELLO ended inside p). Nothing is left as long as a HELLO may still grow.
func (c *helloConn) sift(p []byte) (send []byte, held int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, 0, net.ErrClosed
	case c.through:
		return p, 0, nil
	}
	held = len(c.pending)
	c.pending = append(c.pending, p...)
	defer c.broadcast()
	for len(c.pending) > 0 && maybeHello(c.pending) {
		n, args, err := resp.ScanCommand(c.pending, nil, resp.Limits{Bulk: 64 << 10, Args: 64})
		if err != nil {
			break // not ours to judge: let the server say so
		}
		if n == 0 {
			return nil, held, nil
		}
		c.answers = append(c.answers, helloAnswer(args)...)
		c.pending = c.pending[n:]
		held -= n
	}
	if len(c.pending) > 0 {
		c.through = true
	}
	send, c.pending = c.pending, c.pending[len(c.pending):]
	return send, held, nil
}

func (c *helloConn) Read(p []byte) (int, error) {
	for {
		c.mu.Lock()
		if len(c.answers) > 0 {
			n := copy(p, c.answers)
			c.answers = c.answers[n:]
			c.mu.Unlock()
			return n, nil
		}
		if c.through {
			c.mu.Unlock()
			return c.Conn.Read(p)
		}
		if c.closed {
			c.mu.Unlock()
			return 0, net.ErrClosed
		}
		changed, deadline := c.changed, c.deadline
		c.mu.Unlock()
		if err := waitChange(changed, deadline); err != nil {
			return 0, err
		}
	}
}

// waitChange waits until changed is closed or the deadline passes.
func waitChange(changed <-chan struct{}, deadline time.Time) error {
	if deadline.IsZero() {
		<-changed
		return nil
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-changed:
		return nil
	case <-timer.C:
		return os.ErrDeadlineExceeded
	}
}

// broadcast wakes every waiting Read. c.mu is held.
func (c *helloConn) broadcast() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *helloConn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.broadcast()
	c.mu.Unlock()
	return c.Conn.Close()
}

func (c *helloConn) SetDeadline(t time.Time) error {
	c.setReadDeadline(t)
	return c.Conn.SetDeadline(t)
}

func (c *helloConn) SetReadDeadline(t time.Time) error {
	c.setReadDeadline(t)
	return c.Conn.SetReadDeadline(t)
}

func (c *helloConn) setReadDeadline(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	if !c.through { // nobody waits here any more after the handshake
		c.broadcast()
	}
}

// maybeHello reports whether buf is a HELLO command or may still become one.
// It looks no further than the first argument, so nothing else is held back.
func maybeHello(buf []byte) bool {
	const tail = "\r\n$5\r\nHELLO\r\n"
	if buf[0] != '*' {
		const inline = "HELLO"
		n := min(len(buf), len(inline))
		if !bytes.EqualFold(buf[:n], []byte(inline[:n])) {
			return false
		}
		return len(buf) == n || strings.IndexByte(" \t\r\n", buf[n]) >= 0
	}
	i := 1
	for i < len(buf) && '0' <= buf[i] && buf[i] <= '9' {
		i++
	}
	if i > 3 { // HELLO has at most 7 words
		return false
	}
	n := min(len(buf)-i, len(tail))
	return bytes.EqualFold(buf[i:i+n], []byte(tail[:n]))
}

// helloAnswer is what the connection says to one HELLO.
func helloAnswer(args [][]byte) []byte {
	switch {
	case len(args) == 1, len(args) == 2 && string(args[1]) == "2":
		b := resp.AppendArray(nil, 14)
		b = resp.AppendBulk(resp.AppendBulk(b, "server"), "redis")
		b = resp.AppendBulk(resp.AppendBulk(b, "version"), "3.2.0")
		b = resp.AppendInt(resp.AppendBulk(b, "proto"), 2)
		b = resp.AppendInt(resp.AppendBulk(b, "id"), 0)
		b = resp.AppendBulk(resp.AppendBulk(b, "mode"), "standalone")
		b = resp.AppendBulk(resp.AppendBulk(b, "role"), "master")
		return resp.AppendArray(resp.AppendBulk(b, "modules"), 0)
	case len(args) == 2:
		return resp.AppendError(nil, "NOPROTO unsupported protocol version")
	}
	return resp.AppendError(nil, "ERR unknown command 'hello'")
}
