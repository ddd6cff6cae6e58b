package live

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/resp"
)

// refusal is an error reply.
type refusal struct{ text string }

func (e refusal) Error() string { return e.text }

func isRefusal(err error) bool  { return errors.As(err, new(refusal)) }
func lacksRight(err error) bool { return meaning(err) == redisx.Forbidden }

// rejected reports whether a server has refused a command before its execution, so that it counts
// no call.
func rejected(err error) bool { return meaning(err).NotDone() }

// turnedAway reports whether a server has refused the connection, and not the command: it has
// too many clients, or is in protected mode.
func turnedAway(err error) bool {
	m := meaning(err)
	return m == redisx.Full || m == redisx.Denied
}

func meaning(err error) redisx.Meaning {
	var r refusal
	if !errors.As(err, &r) {
		return redisx.Unclear
	}
	return redisx.MeaningOf(r.text)
}

// wire is a connection. It is used by one goroutine at a time.
type wire struct {
	broken  error // no command may follow: its reply could be an earlier one
	conn    net.Conn
	br      *bufio.Reader
	timeout time.Duration
	sent    func(args []string, rejected bool) // called for every command that was sent
}

// dial connects through the guard, and authenticates.
func dial(ctx context.Context, a Address, cfg Config, sent func([]string, bool)) (*wire, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	conn, err := cfg.Dial(ctx, a.network(), a.Host)
	if err != nil {
		return nil, fmt.Errorf("no connection: %w", err)
	}
	if a.TLS || cfg.TLS != nil {
		secure := tls.Client(conn, cfg.tlsFor(a))
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close() // the error of the handshake matters
			return nil, fmt.Errorf("no TLS: %w", err)
		}
		conn = secure
	}
	w := &wire{conn: guard{conn}, br: bufio.NewReaderSize(conn, 64<<10), timeout: cfg.Timeout, sent: sent}
	if err := w.greet(ctx, a, cfg); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// greet authenticates, if there is a password, and sets the name of the connection. A missing
// right to set the name is no error.
func (w *wire) greet(ctx context.Context, a Address, cfg Config) error {
	var err error
	switch {
	case a.Username != "":
		_, err = w.ask(ctx, "AUTH", a.Username, a.Password)
	case a.Password != "":
		_, err = w.ask(ctx, "AUTH", a.Password)
	}
	if isRefusal(err) && !turnedAway(err) {
		return fmt.Errorf("AUTH was refused: %w", withoutWords(err, a.Password))
	}
	if err != nil {
		return err
	}
	if _, err = w.ask(ctx, "CLIENT", "SETNAME", cfg.name); err != nil && (!isRefusal(err) || turnedAway(err)) {
		return err
	}
	return nil
}

// withoutWords removes the words of the command from an error reply: some servers repeat an unknown
// command, and the words of AUTH include the password.
func withoutWords(err error, password string) error {
	var r refusal
	if !errors.As(err, &r) {
		return err
	}
	r.text, _, _ = strings.Cut(r.text, ", with args")
	if strings.Contains(r.text, password) {
		r.text = "the answer repeats the password, so it is not shown"
	}
	return r
}

// ask sends a command and reads the reply. An error reply is a refusal. After any other error, and
// after the end of ctx, the connection is unusable.
func (w *wire) ask(ctx context.Context, args ...string) (resp.Reply, error) {
	if w.broken != nil {
		return nil, w.broken
	}
	if w.broken = w.conn.SetDeadline(time.Now().Add(w.timeout)); w.broken != nil {
		return nil, w.broken
	}
	inTime := context.AfterFunc(ctx, func() { _ = w.conn.SetDeadline(time.Unix(1, 0)) }) // wakes the reader
	defer func() {
		if !inTime() && w.broken == nil {
			w.broken = context.Cause(ctx)
		}
	}()
	if _, w.broken = w.conn.Write(resp.AppendCommand(nil, args...)); w.broken != nil {
		return nil, w.broken
	}
	reply, err := resp.ReadReply(nil, w.br, resp.Limits{Total: 256 << 20})
	if err != nil {
		w.sent(args, false) // the server may have executed it
		if ctx.Err() != nil {
			err = fmt.Errorf("cancelled during the wait for a reply: %w", context.Cause(ctx))
		}
		w.broken = err
		return nil, err
	}
	if text, isError := reply.ErrorText(); isError {
		err = refusal{text}
	}
	w.sent(args, rejected(err))
	return reply, err
}

// text returns a reply that is a text.
func (w *wire) text(ctx context.Context, args ...string) (string, error) {
	reply, err := w.ask(ctx, args...)
	if err != nil {
		return "", err
	}
	text, ok := reply.Text()
	if !ok {
		return "", fmt.Errorf("the reply to %s is no string: this is no Redis", strings.Join(args, " "))
	}
	return text, nil
}

func (w *wire) close() { _ = w.conn.Close() } // nothing depends on the error
