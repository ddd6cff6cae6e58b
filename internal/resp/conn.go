package resp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ErrorReply is the text of an error reply, as an error.
type ErrorReply string

func (e ErrorReply) Error() string { return string(e) }

// WriteError reports that a command was not sent, or not all of it, and not answered.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *WriteError) Unwrap() error { return e.Err }

// Conn is a client's side of one connection. It sends no handshake of its own. One goroutine at a
// time may use it.
//
// The Timeout limits the wait for each reply, and the end of ctx ends every operation. After an error other than an
// [ErrorReply] the connection is closed, and every later operation returns that error: the next reply
// could belong to an earlier command.
type Conn struct {
	// Timeout limits the wait for each reply. 0: none.
	Timeout time.Duration
	// Sent, if not nil, is called after each command of Do, with the error that Do returns.
	Sent func(args []string, err error)

	conn   net.Conn
	br     *bufio.Reader
	broken error
}

// NewConn returns a Conn over an open connection.
func NewConn(conn net.Conn, timeout time.Duration) *Conn {
	return &Conn{Timeout: timeout, conn: conn, br: bufio.NewReaderSize(conn, 64<<10)}
}

// Close closes the connection.
func (c *Conn) Close() { _ = c.conn.Close() } // nothing depends on the error

// LocalAddr returns the client's address.
func (c *Conn) LocalAddr() net.Addr { return c.conn.LocalAddr() }

// Do sends one command and returns the reply. An error reply is an [ErrorReply].
func (c *Conn) Do(ctx context.Context, args ...string) (reply Reply, err error) {
	replies, err := c.Pipeline(ctx, args)
	if err == nil {
		reply = replies[0]
		if text, failed := reply.ErrorText(); failed {
			err = ErrorReply(text)
		}
	}
	if c.Sent != nil {
		c.Sent(args, err)
	}
	return reply, err
}

// Text is Do for a command with a text as its reply.
func (c *Conn) Text(ctx context.Context, args ...string) (string, error) {
	reply, err := c.Do(ctx, args...)
	if err != nil {
		return "", err
	}
	text, ok := reply.Text()
	if !ok {
		return "", fmt.Errorf("the reply to %s is no string: this is no Redis", strings.Join(args, " "))
	}
	return text, nil
}

// Auth authenticates by a password, with a user name unless that is empty. The text of an [ErrorReply] does
// not contain the password.
func (c *Conn) Auth(ctx context.Context, username, password string) error {
	args := []string{"AUTH", username, password}
	if username == "" {
		args = []string{"AUTH", password}
	}
	_, err := c.Do(ctx, args...)
	var refused ErrorReply
	if !errors.As(err, &refused) {
		return err
	}
	// Some servers repeat the words of an unknown command.
	text, _, _ := strings.Cut(string(refused), ", with args")
	if password != "" && strings.Contains(text, password) {
		text = "the answer repeats the password, so it is not shown"
	}
	return ErrorReply(text)
}

// Pipeline sends commands in one write and returns their replies, error replies included. With an error it
// returns the replies received before.
func (c *Conn) Pipeline(ctx context.Context, commands ...[]string) ([]Reply, error) {
	if c.broken != nil {
		return nil, c.broken
	}
	if cause := ended(ctx); cause != nil {
		return nil, cause // nothing was sent
	}
	// A close is final; the end of a deadline would be undone by the next one.
	inTime := context.AfterFunc(ctx, c.Close)
	replies, err := c.exchange(commands)
	if !inTime() && err == nil {
		c.broken = context.Cause(ctx)
	}
	if err == nil {
		return replies, nil
	}
	if cause := ended(ctx); cause != nil {
		err = fmt.Errorf("cancelled during the wait for a reply: %w", cause)
	}
	c.broken = err
	c.Close()
	return replies, err
}

func (c *Conn) exchange(commands [][]string) ([]Reply, error) {
	var out []byte
	for _, args := range commands {
		out = AppendCommand(out, args...)
	}
	if err := c.extend(); err != nil {
		return nil, &WriteError{err}
	}
	// A large write continues while replies are read: otherwise both sides would block if the peer stops
	// reading until its replies are read.
	var writing sync.WaitGroup
	defer writing.Wait()
	var failed error
	if len(out) <= 16<<10 {
		_, failed = c.conn.Write(out)
	} else {
		writing.Go(func() { _, _ = c.conn.Write(out) }) // the replies show the result
	}
	if failed != nil && !IsClosed(failed) {
		return nil, &WriteError{failed}
	}
	replies := make([]Reply, 0, len(commands))
	for range commands {
		// A peer that has closed the connection may have replied before.
		reply, err := c.read()
		if err != nil {
			c.Close() // ends the write
			if failed != nil {
				err = &WriteError{err}
			}
			return replies, err
		}
		replies = append(replies, reply)
	}
	return replies, nil
}

// read reads one reply. It skips push messages.
func (c *Conn) read() (Reply, error) {
	for {
		if err := c.extend(); err != nil {
			return nil, err
		}
		first, err := c.br.Peek(1)
		if err != nil {
			return nil, err
		}
		if !strings.ContainsRune("+-:$*_,#(%~>|=!", rune(first[0])) {
			first, _ = c.br.Peek(min(c.br.Buffered(), 8))
			return nil, &ProtocolError{Text: "unknown reply type " + show(first[:1]), First: string(first)}
		}
		reply, err := ReadReply(nil, c.br, Limits{Total: 256 << 20})
		if err != nil || reply[0] != '>' {
			return reply, err
		}
	}
}

func (c *Conn) extend() error {
	if c.Timeout <= 0 {
		return nil
	}
	return c.conn.SetDeadline(time.Now().Add(c.Timeout))
}

// Stream returns a reader of the lines that follow the reply to MONITOR. Its reads fail
// after until. Only Close may follow.
func (c *Conn) Stream(until time.Time) (*bufio.Reader, error) {
	return c.br, c.conn.SetReadDeadline(until)
}

// IsClosed reports whether err means that the peer has closed the connection.
func IsClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNABORTED)
}

// ended returns the cause of a ctx that has ended, or whose deadline has passed: a connection notices the
// deadline itself, a moment before the ctx.
func ended(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
