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

	main    *wire // nil: not connected
	silent  int   // successive commands without an answer
	closed  int   // connections that the peer closed
	retried bool  // the last do was sent more than once, so it may be executed more than once

	server  bool       // the reply to ROLE is that of a server
	deletes string     // the command that deletes keys
	expires bool       // PEXPIRE was acknowledged
	cut     []question // questions that write, and after which the peer closed the connection
	all     int        // the number of questions in the battery; 0: not started
}

// dial opens a connection and authenticates.
func (p *prober) dial(ctx context.Context) (*wire, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	w, err := connect(ctx, p.addr, p.cfg)
	if err != nil {
		return nil, err
	}
	p.report.Dialled++
	if p.cfg.Password == "" {
		return w, nil
	}
	if err := p.login(ctx, w); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// login sends AUTH. The server's error is not shown, since it may contain the password.
func (p *prober) login(ctx context.Context, w *wire) error {
	auth := []string{"AUTH", p.cfg.Password}
	if p.cfg.Username != "" {
		auth = []string{"AUTH", p.cfg.Username, p.cfg.Password}
	}
	first, replies, err := p.greet(w, auth)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return p.explain(ctx, greetingError(p.addr, first, err, p.cfg.Timeout))
	}
	if text, failed := replies[0].ErrorText(); failed {
		return &ConnectError{Addr: p.addr, Reason: BadPassword, what: "AUTH failed: " + p.mask(text)}
	}
	w.used = false // only commands count: do uses it to find the command after which the peer closed
	return nil
}

// greet sends the first command on a wire. It also returns the first bytes, in case the peer is not a
// Redis.
func (p *prober) greet(w *wire, command []string) (first []byte, replies []resp.Reply, err error) {
	p.report.Sent++
	replies, err = w.exchange(p.cfg.Timeout, command)
	if err != nil {
		return w.seen, replies, err
	}
	return nil, replies, nil
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
			p.main = w
		}
		fresh := !p.main.used
		replies, outcome, err := p.on(ctx, p.main, commands...)
		if err != nil {
			return nil, "", err
		}
		if outcome == OK {
			p.report.ClosesAfterErrors = p.report.ClosesAfterErrors || afterError
			return replies, OK, nil
		}
		afterError = p.main.failed
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
		p.main.close()
		p.main = nil
	}
}

// on sends commands on the given connection.
func (p *prober) on(ctx context.Context, w *wire, commands ...[]string) ([]resp.Reply, Outcome, error) {
	p.report.Sent += len(commands)
	replies, err := w.exchange(p.cfg.Timeout, commands...)
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
