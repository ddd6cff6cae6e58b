package probe

import (
	"context"
	"crypto/sha1" // servers identify scripts by SHA-1
	"errors"
	"fmt"
	"strconv"

	"github.com/unwatch/unwatch/internal/resp"
)

// maxSilent is the number of successive commands without an answer that ends the probe.
const maxSilent = 3

// maxAttempts limits the attempts of a command at a proxy that closes connections.
const maxAttempts = 3

// maxClosed limits the connections that the peer closes: several times the number of commands that a proxy
// may refuse in that way.
const maxClosed = 1000

// prober probes one address, on one goroutine. Experiments with several connections have a wire for each.
type prober struct {
	addr   string
	cfg    Config
	keys   *keyring
	oracle oracle
	report *Report

	main    *resp.Conn // nil: not connected
	used    bool       // main has received a reply
	failed  bool       // the last reply on main was an error
	silent  int        // successive commands without an answer
	closed  int        // connections that the peer closed
	retried bool       // the last do was sent more than once, so it may be executed more than once

	server  bool       // the reply to ROLE is that of a server
	deletes string     // the command that deletes keys
	expires bool       // PEXPIRE was acknowledged
	cut     []question // questions that write, and after which the peer closed the connection
	all     int        // the number of questions in the battery; 0: not started
}

// dial opens a connection and authenticates.
func (p *prober) dial(ctx context.Context) (*resp.Conn, error) {
	c, err := connect(ctx, p.addr, p.cfg)
	if err != nil {
		return nil, err
	}
	p.report.Dialled++
	if p.cfg.Password == "" {
		return c, nil
	}
	p.report.Sent++
	if err := p.explain(ctx, c.Auth(ctx, p.cfg.Username, p.cfg.Password)); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// connect dials, and completes the TLS handshake if configured.
func connect(ctx context.Context, addr string, cfg Config) (*resp.Conn, error) {
	d := resp.Dialer{Timeout: cfg.Timeout, TLS: cfg.TLS, Dial: cfg.Dial}
	conn, err := d.Open(ctx, "tcp", addr)
	var handshake *resp.HandshakeError
	switch {
	case err == nil:
		return resp.NewConn(conn, cfg.Timeout), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &handshake):
		return nil, handshakeError(addr, handshake.Err, cfg.Timeout)
	}
	return nil, dialError(addr, err, cfg.Timeout)
}

// do sends commands in one write on the main connection and returns their replies. The outcome is OK,
// Closes or Timeout. After Closes and Timeout there may be fewer replies, and the next do opens a new
// connection. If a used connection is closed, do retries on a new one, so that the close is not attributed
// to the next command.
//
// The error means that the probe cannot continue.
func (p *prober) do(ctx context.Context, commands ...[]string) ([]resp.Reply, Outcome, error) {
	afterError := false
	p.retried = false
	for range maxAttempts {
		if p.main == nil {
			w, err := p.dial(ctx)
			if err != nil {
				return nil, "", p.after(err)
			}
			p.main, p.used, p.failed = w, false, false
		}
		fresh := !p.used
		replies, outcome, err := p.on(ctx, p.main, commands...)
		if err != nil {
			return nil, "", err
		}
		if len(replies) > 0 {
			p.used = true
			_, p.failed = replies[len(replies)-1].ErrorText()
		}
		if outcome == OK {
			p.report.ClosesAfterErrors = p.report.ClosesAfterErrors || afterError
			return replies, OK, nil
		}
		afterError = p.failed
		p.drop()
		if outcome == Timeout {
			return replies, outcome, nil
		}
		if p.closed++; p.closed >= maxClosed {
			what := fmt.Sprintf("it closed %d connections", p.closed)
			return nil, "", p.after(&ConnectError{Addr: p.addr, Reason: HangsUp, what: what})
		}
		if fresh {
			return replies, outcome, nil
		}
		p.retried = true
	}
	return nil, Closes, nil
}

// drop closes the main connection.
func (p *prober) drop() {
	if p.main != nil {
		p.main.Close()
		p.main = nil
	}
}

// on sends commands on the given connection.
func (p *prober) on(ctx context.Context, c *resp.Conn, commands ...[]string) ([]resp.Reply, Outcome, error) {
	p.report.Sent += len(commands)
	c.Timeout = p.cfg.Timeout
	replies, err := c.Pipeline(ctx, commands...)
	switch {
	case err == nil:
		p.silent = 0
		return replies, OK, nil
	case ctx.Err() != nil:
		return replies, "", context.Cause(ctx)
	case isTimeout(err):
		if p.silent++; p.silent >= maxSilent {
			return replies, "", &ConnectError{
				Addr: p.addr, Reason: Hangs, Err: err,
				what: fmt.Sprintf("no answer to the last %d commands within %v each", p.silent, p.cfg.Timeout),
			}
		}
		return replies, Timeout, nil
	case errors.Is(err, resp.ErrProtocol):
		return replies, "", &ConnectError{Addr: p.addr, Reason: NotRedis, Err: err, what: "it stopped answering as a Redis"}
	}
	p.silent = 0
	return replies, Closes, nil
}

// after returns the error for a connection that can no longer be opened.
func (p *prober) after(err error) error {
	var failed *ConnectError
	if errors.As(err, &failed) {
		failed.what += fmt.Sprintf(", after %d connections and %d commands", p.report.Dialled, p.report.Sent)
	}
	return err
}

// put records an answer: the first of the replies.
func (p *prober) put(q question, replies []resp.Reply, outcome Outcome) {
	a := Answer{Command: q.name, Case: q.about, Outcome: outcome, question: q}
	if len(replies) > 0 {
		a.Outcome, a.raw = classify(q, replies[0])
		a.Text = p.mask(a.raw)
		p.server = p.server || q.name == "ROLE" && saysServer(replies[0])
	}
	p.report.Commands = append(p.report.Commands, a)
}

// first returns the first reply, or nil.
func first(replies []resp.Reply) resp.Reply {
	if len(replies) == 0 {
		return nil
	}
	return replies[0]
}

func lifetimeText() string { return strconv.FormatInt(lifetime.Milliseconds(), 10) }

func shaOf(script string) string {
	return fmt.Sprintf("%x", sha1.Sum([]byte(script)))
}

// set returns a SET with the expiry of all keys of the probe.
func set(key, value string) []string { return []string{"SET", key, value, "PX", lifetimeText()} }
