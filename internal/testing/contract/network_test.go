package contract_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/contract"
)

// echo is a server that answers lines, and keeps them.
type echo struct {
	addr  string
	lines chan string
}

func newEcho(t *testing.T) *echo {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	e := &echo{addr: listener.Addr().String(), lines: make(chan string, 100)}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer func() { _ = conn.Close() }()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					e.lines <- lines.Text()
					_, _ = fmt.Fprintln(conn, lines.Text())
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	return e
}

func (e *echo) dial(t *testing.T, n *contract.Network) net.Conn {
	conn, err := n.Dialer(new(net.Dialer).DialContext)(t.Context(), "tcp", e.addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// got requires the next line that the server executes.
func (e *echo) got(t *testing.T, want string) {
	select {
	case line := <-e.lines:
		require.Equal(t, want, line)
	case <-time.After(10 * time.Second):
		require.Fail(t, "the server did not get "+want)
	}
}

func (e *echo) none(t *testing.T) {
	select {
	case line := <-e.lines:
		assert.Fail(t, "the server got "+line)
	default:
	}
}

func say(conn net.Conn, line string) (string, error) {
	if _, err := fmt.Fprintln(conn, line); err != nil {
		return "", err
	}
	reply := make([]byte, len(line)+1)
	_, err := io.ReadFull(conn, reply)
	return string(reply), err
}

func works(t *testing.T, e *echo, conn net.Conn, line string) {
	reply, err := say(conn, line)
	require.NoError(t, err)
	require.Equal(t, line+"\n", reply)
	e.got(t, line)
}

func TestNetworkDelaysRequests(t *testing.T) {
	for name, gaveUp := range map[string]bool{"the client waits": false, "the client gave up": true} {
		t.Run(name, func(t *testing.T) {
			e, n := newEcho(t), &contract.Network{}
			conn := e.dial(t, n)
			works(t, e, conn, "a")
			deliver := n.Delay()
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Millisecond)))
			_, err := say(conn, "b")
			require.Error(t, err)
			if gaveUp {
				require.NoError(t, conn.Close())
			}
			e.none(t)
			deliver()
			e.got(t, "b")
			works(t, e, e.dial(t, n), "c")
		})
	}
}

// A reader of a connection that is closed while requests are held back returns.
func TestNetworkDelayedCloseEndsReads(t *testing.T) {
	e, n := newEcho(t), &contract.Network{}
	conn := e.dial(t, n)
	defer n.Delay()()
	_, err := fmt.Fprintln(conn, "a")
	require.NoError(t, err)
	read := make(chan error, 1)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		read <- err
	}()
	require.NoError(t, conn.Close())
	require.Error(t, <-read)
}
