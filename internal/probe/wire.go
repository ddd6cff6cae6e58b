package probe

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/resp"
)

// wire is one connection, used by one goroutine at a time. It ends with the ctx of its dial.
type wire struct {
	conn   net.Conn
	br     *bufio.Reader
	used   bool   // it has received a reply
	failed bool   // the last reply was an error
	seen   []byte // the first bytes received, in case they are not a reply
	stop   func() bool
}

// connect dials, and completes the TLS handshake if configured.
func connect(ctx context.Context, addr string, cfg Config) (*wire, error) {
	limited, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	conn, err := cfg.Dial(limited, "tcp", addr)
	if err != nil {
		if ended := hasEnded(ctx); ended != nil {
			return nil, ended
		}
		return nil, dialError(addr, err, cfg.Timeout)
	}
	if cfg.TLS != nil {
		secure := tls.Client(conn, namedTLS(cfg.TLS, addr))
		if err := secure.HandshakeContext(limited); err != nil {
			_ = conn.Close() // the error of the handshake matters
			if ended := hasEnded(ctx); ended != nil {
				return nil, ended
			}
			return nil, handshakeError(addr, err, cfg.Timeout)
		}
		conn = secure
	}
	w := &wire{conn: conn, br: bufio.NewReaderSize(conn, 32<<10)}
	// Close is final; a later deadline cannot undo it.
	w.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	return w, nil
}

// hasEnded returns the cause of a ctx that has ended, or whose deadline has passed: a dial notices the
// deadline itself, a moment before the ctx.
func hasEnded(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func namedTLS(cfg *tls.Config, addr string) *tls.Config {
	if cfg.ServerName != "" || cfg.InsecureSkipVerify {
		return cfg
	}
	named := cfg.Clone()
	named.ServerName, _, _ = net.SplitHostPort(addr) // checkAddr has validated it
	return named
}

func (w *wire) close() {
	w.stop()
	_ = w.conn.Close() // the error has no reader
}

// exchange sends commands in one write and reads a reply to each, with a timeout of wait for each. It
// returns the received replies. After an error the wire is unusable.
func (w *wire) exchange(wait time.Duration, commands ...[]string) ([]resp.Reply, error) {
	var out []byte
	for _, c := range commands {
		out = resp.AppendCommand(out, c...)
	}
	// A large write continues while replies are read: otherwise both sides would block if the peer stops
	// reading until its replies are read.
	var writing sync.WaitGroup
	defer writing.Wait()
	var failed error
	if err := w.conn.SetDeadline(time.Now().Add(wait)); err != nil {
		return nil, err
	}
	if len(out) <= 16<<10 {
		_, failed = w.conn.Write(out)
	} else {
		writing.Go(func() { _, _ = w.conn.Write(out) }) // the replies show the result
	}
	replies := make([]resp.Reply, 0, len(commands))
	for range commands {
		// A failed write is not the end: the peer may have replied before it closed.
		reply, err := w.read(wait)
		if err != nil {
			_ = w.conn.Close() // ends the write
			if failed != nil && !isClosed(err) {
				err = failed
			}
			return replies, err
		}
		replies = append(replies, reply)
		_, w.failed = reply.ErrorText()
		w.used = true
	}
	return replies, nil
}

// read reads one reply. It skips push messages.
func (w *wire) read(wait time.Duration) (resp.Reply, error) {
	for {
		if err := w.conn.SetDeadline(time.Now().Add(wait)); err != nil {
			return nil, err
		}
		if !w.used && len(w.seen) == 0 {
			if _, err := w.br.Peek(1); err != nil {
				return nil, err
			}
			w.seen, _ = w.br.Peek(min(w.br.Buffered(), 8))
			w.seen = slices.Clone(w.seen)
		}
		reply, err := resp.ReadReply(nil, w.br, resp.Limits{Total: 256 << 20})
		if err != nil || reply[0] != '>' {
			return reply, err
		}
	}
}
