package proxycompat

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/resp"
)

// filterConn parses the commands written to a connection and sends only whole, permitted ones. If a write
// contains a refused command, filterConn sends no byte of that write and ends the connection, since the
// caller cannot tell which commands were sent. Every later Write and Read returns the reason. With report
// set, filterConn sends everything and reports only the commands that bypass hooks.
type filterConn struct {
	net.Conn
	p      *Profile
	report func(*RefusedError)

	dead atomic.Pointer[error] // why the connection ended

	mu      sync.Mutex // guards the fields below and the order of writes
	pending []byte     // the start of an incomplete command
	blind   bool       // the bytes do not parse as commands; the server will reject them
	args    [][]byte   // reused
}

// filtered makes filterConns of the connections of next. A nil report refuses commands.
func filtered(p *Profile, next redis.DialHook, report func(context.Context, *RefusedError)) redis.DialHook {
	if p.permitsAll() {
		return next
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		c := &filterConn{Conn: conn, p: p}
		if report != nil {
			c.report = func(refused *RefusedError) { report(context.WithoutCancel(ctx), refused) }
		}
		return keepSyscall(c, conn), nil
	}
}

func (c *filterConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if dead := c.dead.Load(); dead != nil {
		return 0, *dead
	}
	if c.blind {
		return c.Conn.Write(b)
	}
	buf := b
	if len(c.pending) > 0 {
		c.pending = append(c.pending, b...)
		buf = c.pending
	}
	pass, err := c.scan(buf)
	if err != nil && c.report != nil {
		c.blind, pass, err = true, len(buf), nil
	}
	if err != nil {
		c.dead.Store(&err)
		_ = c.Conn.Close() // wakes a blocked Read
		return 0, asSubscribeAnswer(err)
	}
	held := len(buf) - len(b) // bytes from earlier writes
	if pass > 0 {
		if n, err := c.Conn.Write(buf[:pass]); err != nil {
			return min(max(n-held, 0), len(b)), err
		}
	}
	c.pending = append(c.pending[:0], buf[pass:]...)
	if pass > 0 && len(c.pending) == 0 && cap(c.pending) > 1<<20 {
		c.pending = nil // so that one large value does not keep a large buffer alive
	}
	return len(b), nil
}

func (c *filterConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		if dead := c.dead.Load(); dead != nil {
			return n, *dead
		}
	}
	return n, err
}

// asSubscribeAnswer turns the refusal of a subscription into an error reply of a server. After any other
// error go-redis replaces the connection before it has recorded the channel, and Receive would block for
// ever. After an error reply go-redis keeps the dead connection, and Receive fails.
func asSubscribeAnswer(err error) error {
	if refused, ok := errors.AsType[*RefusedError](err); ok && unhooked(refused) {
		return answeredRefusal{refused}
	}
	return err
}

// scan returns the number of bytes of buf that are complete commands, all permitted.
func (c *filterConn) scan(buf []byte) (pass int, err error) {
	for pass < len(buf) {
		var n int
		n, c.args, err = resp.ScanCommand(buf[pass:], c.args, resp.Limits{})
		if err != nil {
			return 0, fmt.Errorf("proxycompat: not sent, these bytes are no command: %w", err)
		}
		if n == 0 {
			break
		}
		if err := c.p.checkBytes(c.args); err != nil && c.report == nil {
			return 0, err
		} else if refused, ok := errors.AsType[*RefusedError](err); ok && unhooked(refused) {
			c.report(refused)
		}
		pass += n
	}
	clear(c.args[:cap(c.args)]) // the arguments alias the caller's buffer
	return pass, nil
}

// checkBytes is Check without converting the arguments to strings, unless the rule reads words.
func (p *Profile) checkBytes(args [][]byte) error {
	if len(args) == 0 {
		return nil
	}
	if r := find(p, args, same[[]byte]); r.passes() && !r.args.set && r.newer == nil {
		return nil
	}
	return check(p, args, func(b []byte) string { return string(b) })
}
