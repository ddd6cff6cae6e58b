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

// HelloDialer returns a dialer whose connections answer HELLO locally until another command is sent. All
// other bytes pass unchanged.
//
// go-redis v9 opens every connection with HELLO, whatever its options. twemproxy then closes the
// connection, so go-redis cannot connect at all. Codis forwards HELLO to a server connection that other
// clients share, and HELLO 3 breaks that connection for all of them.
//
// The connection answers HELLO and HELLO 2 with a RESP2 description of a server. It answers another
// protocol version, AUTH or SETNAME with an error, because it does not execute the command.
// go-redis then stays on RESP2 and sends a plain AUTH, which is forwarded. HELLO may arrive in any number
// of writes, also together with later commands.
//
// inner opens the connection; nil means a plain net.Dialer. For TLS there is [TLSDialer]. A dial ends with its
// ctx, or after 5 s if ctx has no deadline, also if inner ignores ctx; go-redis passes a ctx with its DialTimeout.
// The connections are as safe for concurrent use as the inner ones.
func HelloDialer(inner DialFunc) DialFunc {
	if inner == nil {
		inner = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialWithin(ctx, inner, network, addr)
		if err != nil {
			return nil, err
		}
		return keepSyscall(newHelloConn(conn), conn), nil
	}
}

// helloConn answers HELLO at the start of a connection. Until another command is sent the server sends
// nothing, so Read waits for the local answers only. After it both directions belong to the inner
// connection.
type helloConn struct {
	net.Conn

	writing sync.Mutex // keeps writes in order; never held by Close or Read

	mu       sync.Mutex // guards the fields below; never held during network I/O
	through  bool       // a command other than HELLO was written
	closed   bool
	pending  []byte    // bytes that may still become a HELLO
	answers  []byte    // answers not yet read
	deadline time.Time // for Read
	changed  sync.Cond // a field above has changed, or the deadline has passed
}

func newHelloConn(inner net.Conn) *helloConn {
	c := &helloConn{Conn: inner}
	c.changed.L = &c.mu
	return c
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
	// Of these bytes, so many are from p.
	return min(max(n-held, 0), len(p)), err
}

// sift consumes the leading HELLOs and returns the bytes to send. The first held of them were written
// before p; held is negative if a HELLO ended inside p. It returns no bytes while they may still become a
// HELLO.
func (c *helloConn) sift(p []byte) (send []byte, held int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, 0, &net.OpError{Op: "write", Net: "tcp", Err: net.ErrClosed} // the Op tells that nothing was sent
	case c.through:
		return p, 0, nil
	}
	held = len(c.pending)
	c.pending = append(c.pending, p...)
	defer c.changed.Broadcast()
	for len(c.pending) > 0 && maybeHello(c.pending) {
		n, args, err := resp.ScanCommand(c.pending, nil, resp.Limits{Bulk: 64 << 10, Args: 64})
		if err != nil {
			break // malformed: the server will reject it
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
	c.mu.Lock()
	for len(c.answers) == 0 && !c.through && !c.closed {
		if err := c.wait(); err != nil {
			c.mu.Unlock()
			return 0, err
		}
	}
	answered, through := len(c.answers) > 0, c.through
	n := copy(p, c.answers)
	c.answers = c.answers[n:]
	c.mu.Unlock()
	switch {
	case answered:
		return n, nil
	case through:
		return c.Conn.Read(p)
	}
	return 0, net.ErrClosed
}

// wait waits for a change or the deadline. The caller holds c.mu.
func (c *helloConn) wait() error {
	if !c.deadline.IsZero() {
		left := time.Until(c.deadline)
		if left <= 0 {
			return os.ErrDeadlineExceeded
		}
		timer := time.AfterFunc(left, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.changed.Broadcast()
		})
		defer timer.Stop()
	}
	c.changed.Wait()
	return nil
}

func (c *helloConn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.changed.Broadcast()
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
	c.changed.Broadcast()
}

// maybeHello reports whether buf is a HELLO command or a prefix of one. It looks at the first argument
// only, so that no other command is held back.
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
	if i > 3 { // a HELLO has at most 7 words
		return false
	}
	n := min(len(buf)-i, len(tail))
	return bytes.EqualFold(buf[i:i+n], []byte(tail[:n]))
}

// helloAnswer returns the reply to one HELLO.
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
