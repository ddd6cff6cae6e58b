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

	"github.com/unwatch/unwatch/internal/resp"
)

// refusal is an error that a server answered.
type refusal struct{ text string }

func (e refusal) Error() string { return e.text }

// lacksRight reports whether the user may not do it.
func lacksRight(err error) bool {
	var r refusal
	return errors.As(err, &r) && strings.HasPrefix(r.text, "NOPERM")
}

func isRefusal(err error) bool {
	var r refusal
	return errors.As(err, &r)
}

// rejected reports whether a server has refused a command before it began, and so has
// counted no call.
func rejected(err error) bool {
	var r refusal
	return errors.As(err, &r) && (strings.HasPrefix(r.text, "NO") || strings.HasPrefix(r.text, "ERR unknown") ||
		strings.HasPrefix(r.text, "ERR wrong number") || strings.HasPrefix(r.text, "LOADING"))
}

// wire is one connection, used by one goroutine at a time.
type wire struct {
	broken  error // why it is of no use any more: a late reply would be taken for the next one
	conn    net.Conn
	br      *bufio.Reader
	timeout time.Duration
	sent    func(args []string, rejected bool) // is told of every command that was sent
}

// dial connects to an address, through the guard, and says who we are.
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
			_ = conn.Close() // the handshake's error is the one that matters
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

// greet authenticates, if there is a password. The name is for those who look at a CLIENT
// LIST themselves; a user who may not set it is none the worse for it.
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

// turnedAway reports whether a server has refused the connection itself, whatever was asked:
// it has too many clients, or protects itself from other hosts.
func turnedAway(err error) bool {
	var r refusal
	return errors.As(err, &r) && (strings.HasPrefix(r.text, "ERR max number of clients") || strings.HasPrefix(r.text, "DENIED"))
}

// withoutWords is a refusal without the words of the command, which a server repeats if it
// does not know it: those of AUTH are a password.
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

// ask sends a command and reads the reply to it. A reply that is an error is a refusal;
// after any other error, and after the end of ctx, nothing can be asked any more.
func (w *wire) ask(ctx context.Context, args ...string) (resp.Reply, error) {
	if w.broken != nil {
		return nil, w.broken
	}
	if w.broken = w.conn.SetDeadline(time.Now().Add(w.timeout)); w.broken != nil {
		return nil, w.broken
	}
	inTime := context.AfterFunc(ctx, func() { _ = w.conn.SetDeadline(time.Unix(1, 0)) }) // a reader wakes up
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
		w.sent(args, false) // it may have been carried out
		if ctx.Err() != nil {
			err = fmt.Errorf("it was ended while it waited for an answer: %w", context.Cause(ctx))
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

// text asks for a reply that is a text.
func (w *wire) text(ctx context.Context, args ...string) (string, error) {
	reply, err := w.ask(ctx, args...)
	if err != nil {
		return "", err
	}
	text, ok := reply.Text()
	if !ok {
		return "", fmt.Errorf("%s was answered with no text: this is no Redis", strings.Join(args, " "))
	}
	return text, nil
}

func (w *wire) close() { _ = w.conn.Close() } // there is nobody to tell
