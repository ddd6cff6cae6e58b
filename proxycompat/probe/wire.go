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

// wire is one connection, used by one goroutine at a time. It ends with the ctx that
// it was dialled with.
type wire struct {
	conn   net.Conn
	br     *bufio.Reader
	used   bool   // something was answered on it
	failed bool   // the last reply was an error
	seen   []byte // the first bytes that came, for the case that they are no reply
	stop   func() bool
}

// connect dials, and shakes hands if TLS is wanted.
func connect(ctx context.Context, addr string, cfg Config) (*wire, error) {
	limited, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(limited, "tcp", addr)
	if err != nil {
		if ended := hasEnded(ctx); ended != nil {
			return nil, ended
		}
		return nil, dialError(addr, err, cfg.Timeout)
	}
	if cfg.TLS != nil {
		secure := tls.Client(conn, namedTLS(cfg.TLS, addr))
		if err := secure.HandshakeContext(limited); err != nil {
			_ = conn.Close() // the handshake's error is the one that matters
			if ended := hasEnded(ctx); ended != nil {
				return nil, ended
			}
			return nil, handshakeError(addr, err, cfg.Timeout)
		}
		conn = secure
	}
	w := &wire{conn: conn, br: bufio.NewReaderSize(conn, 32<<10)}
	// Closing is for ever: no deadline that is set later can undo it.
	w.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	return w, nil
}

// hasEnded returns the cause of a ctx that has ended, or whose deadline has come: a dial
// notices that by itself, and a moment before the ctx.
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
	named.ServerName, _, _ = net.SplitHostPort(addr) // checkAddr has seen it
	return named
}

func (w *wire) close() {
	w.stop()
	_ = w.conn.Close() // there is nobody to tell
}

// exchange sends commands in one write and reads a reply to each, waiting that long for
// each of them. It returns the replies that came. After an error the wire is of no use.
func (w *wire) exchange(wait time.Duration, commands ...[]string) ([]resp.Reply, error) {
	var out []byte
	for _, c := range commands {
		out = resp.AppendCommand(out, c...)
	}
	// A peer that does not read because we do not must not make both wait: what is
	// large is written while replies are read.
	var writing sync.WaitGroup
	defer writing.Wait()
	var failed error
	if err := w.conn.SetDeadline(time.Now().Add(wait)); err != nil {
		return nil, err
	}
	if len(out) <= 16<<10 {
		_, failed = w.conn.Write(out)
	} else {
		writing.Go(func() { _, _ = w.conn.Write(out) }) // reading shows what became of it
	}
	replies := make([]resp.Reply, 0, len(commands))
	for range commands {
		// A failed write is not the end: what the peer said before it closed is there.
		reply, err := w.read(wait)
		if err != nil {
			_ = w.conn.Close() // ends the writing
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

// read reads one reply. Messages that a server pushes are skipped.
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
