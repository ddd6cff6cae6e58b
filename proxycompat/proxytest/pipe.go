package proxytest

import (
	"errors"
	"io"
	"net"
	"time"
)

// pipeConn makes the client's end of a net.Pipe fail as a socket does. A pipe closed by the peer rejects
// deadlines. A client that sets a deadline before a read would get "closed pipe" instead of the remaining
// data and EOF.
type pipeConn struct{ net.Conn }

func (c pipeConn) SetDeadline(t time.Time) error      { return open(c.Conn.SetDeadline(t)) }
func (c pipeConn) SetReadDeadline(t time.Time) error  { return open(c.Conn.SetReadDeadline(t)) }
func (c pipeConn) SetWriteDeadline(t time.Time) error { return open(c.Conn.SetWriteDeadline(t)) }

func open(err error) error {
	if errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}
