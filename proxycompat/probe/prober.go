package probe

import (
	"context"
	"crypto/sha1" // it is by SHA-1 that servers name scripts
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/unwatch/unwatch/internal/resp"
)

// maxSilent is after how many commands without an answer, one after the other, nothing
// more is expected.
const maxSilent = 3

// maxAttempts is how often a command is sent, at most, to a proxy that closes connections.
const maxAttempts = 3

// maxClosed is how many connections the other side may close until we give up: several
// times what the commands that a proxy refuses in that way come to.
const maxClosed = 1000

// prober asks one address, on one goroutine. Experiments with several connections have
// a wire for each.
type prober struct {
	addr   string
	cfg    Config
	keys   *keyring
	oracle oracle
	report *Report

	main    *wire // nil: to be dialled
	silent  int   // commands in a row without an answer
	closed  int   // connections that the other side closed
	retried bool  // the last do was sent more than once, so that it may be executed more than once

	server  bool       // ROLE was answered as by a server
	deletes string     // the command that deletes keys
	expires bool       // PEXPIRE was acknowledged
	cut     []question // that write, and closed the connection
	all     int        // questions of the battery; 0: it was not begun
}

// dial opens a connection and identifies itself.
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

// login sends AUTH. What the server says of it is not shown: it may repeat the password.
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
	w.used = false // by a command: do tells by it whether that one made the other side close
	return nil
}

// greet is the first exchange on a wire. It also returns the first bytes, for the case
// that they are no Redis'.
func (p *prober) greet(w *wire, command []string) (first []byte, replies []resp.Reply, err error) {
	p.report.Sent++
	replies, err = w.exchange(p.cfg.Timeout, command)
	if err != nil {
		return w.seen, replies, err
	}
	return nil, replies, nil
}

// do sends commands in one write, on the main connection, and returns their replies. The
// outcome is OK, Closes or Timeout; with the latter two there may be fewer replies, and the
// next do has a new connection. A connection that is closed is asked again with a new one,
// so that a close is not blamed on the command after the one that caused it.
//
// The error says that nothing more can be asked.
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

// on sends commands on a connection of the caller.
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

// after is the error for a connection that could be opened before, and now not.
func (p *prober) after(err error) error {
	var failed *ConnectError
	if errors.As(err, &failed) {
		failed.what += fmt.Sprintf(", after %d connections and %d commands", p.report.Dialled, p.report.Sent)
	}
	return err
}

// put puts an answer down: the first of these replies.
func (p *prober) put(q question, replies []resp.Reply, outcome Outcome) {
	a := Answer{Command: q.name, Case: q.about, Outcome: outcome, question: q}
	if len(replies) > 0 {
		a.Outcome, a.raw = classify(q, replies[0])
		a.Text = p.mask(a.raw)
		p.server = p.server || q.name == "ROLE" && saysServer(replies[0])
	}
	p.report.Commands = append(p.report.Commands, a)
}

// first returns one of the replies, nil if there are fewer.
func first(replies []resp.Reply) resp.Reply {
	if len(replies) == 0 {
		return nil
	}
	return replies[0]
}

func lifetimeText() string { return strconv.FormatInt(lifetime.Milliseconds(), 10) }

func shaOf(script string) string {
	sum := sha1.Sum([]byte(script)) // as above
	return hex.EncodeToString(sum[:])
}

// set is SET with the expiry that every key of the probe has.
func set(key, value string) []string { return []string{"SET", key, value, "PX", lifetimeText()} }
