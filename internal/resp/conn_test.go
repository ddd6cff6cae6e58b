package resp_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/resp"
)

// connected returns a Conn whose peer is run by serve.
func connected(t *testing.T, serve func(peer net.Conn)) *resp.Conn {
	t.Helper()
	client, peer := net.Pipe()
	t.Cleanup(func() { _, _ = client.Close(), peer.Close() })
	go serve(peer)
	return resp.NewConn(client, time.Second)
}

// replying answers the n-th command by the n-th reply, and then no more.
func replying(replies ...string) func(net.Conn) {
	return func(peer net.Conn) {
		br := bufio.NewReader(peer)
		for {
			if _, err := resp.ReadCommand(br, resp.Limits{}); err != nil {
				return
			}
			if len(replies) == 0 {
				continue
			}
			_, _ = io.WriteString(peer, replies[0])
			replies = replies[1:]
		}
	}
}

func TestDoSeparatesErrorRepliesFromFailures(t *testing.T) {
	c := connected(t, replying("+PONG\r\n", "-ERR no\r\n", ">1\r\n+push\r\n:7\r\n", "$1\r\na\r\n", ":1\r\n"))
	var sent []error
	c.Sent = func(_ []string, err error) { sent = append(sent, err) }
	_, err := c.Do(t.Context(), "PING")
	require.NoError(t, err)
	_, err = c.Do(t.Context(), "NO")
	assert.Equal(t, resp.ErrorReply("ERR no"), err)
	reply, err := c.Do(t.Context(), "INCR", "k")
	require.NoError(t, err, "the connection works after an error reply, and a push message is no reply")
	assert.Equal(t, ":7\r\n", string(reply))
	text, err := c.Text(t.Context(), "GET", "k")
	require.NoError(t, err)
	assert.Equal(t, "a", text)
	_, err = c.Text(t.Context(), "GET", "k")
	require.ErrorContains(t, err, "the reply to GET k is no string")
	assert.Equal(t, []error{nil, resp.ErrorReply("ERR no"), nil, nil, nil}, sent)
}

func TestPipelineReturnsWhatArrived(t *testing.T) {
	c := connected(t, replying("+A\r\n", "-B\r\n"))
	replies, err := c.Pipeline(t.Context(), []string{"A"}, []string{"B"}, []string{"C"})
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.Equal(t, []resp.Reply{resp.Reply("+A\r\n"), resp.Reply("-B\r\n")}, replies)
}

// The next reply could belong to an earlier command.
func TestConnEndsWithItsFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connected(t, replying())
		began := time.Now()
		_, err := c.Do(t.Context(), "PING")
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(began))
		_, again := c.Do(t.Context(), "PING")
		assert.Equal(t, err, again)
		assert.Equal(t, time.Second, time.Since(began), "nothing is sent any more")
	})
}

func TestEndOfCtxEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := errors.New("over")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, over)
		defer cancel()
		c := connected(t, replying())
		began := time.Now()
		_, err := c.Pipeline(ctx, []string{"PING"}, []string{"GET", strings.Repeat("k", 1<<20)})
		require.ErrorIs(t, err, over)
		assert.Equal(t, time.Millisecond, time.Since(began))

		c = connected(t, replying("+PONG\r\n"))
		_, err = c.Do(ctx, "PING")
		require.ErrorIs(t, err, over)
		_, err = c.Do(t.Context(), "PING")
		require.NoError(t, err, "nothing was sent before")
	})
}

// The peer replies to each command before it reads the next, so both would block if the whole write came first.
func TestLargePipelineIsReadWhileItIsWritten(t *testing.T) {
	const n = 1000
	replies := make([]string, n)
	commands := make([][]string, n)
	for i := range commands {
		replies[i], commands[i] = ":1\r\n", []string{"SET", "k", strings.Repeat("v", 100)}
	}
	got, err := connected(t, replying(replies...)).Pipeline(t.Context(), commands...)
	require.NoError(t, err)
	assert.Len(t, got, n)
}

// A full server replies and closes the connection without reading.
func TestReplyBeforeTheCloseIsRead(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	go func() {
		peer, err := l.Accept()
		if err == nil {
			_, _ = io.WriteString(peer, "-ERR max number of clients reached\r\n")
			_ = peer.Close()
		}
	}()
	conn, err := resp.Dialer{Timeout: time.Second}.Open(t.Context(), "tcp", l.Addr().String())
	require.NoError(t, err)
	c := resp.NewConn(conn, time.Second)
	_, err = c.Do(t.Context(), "PING")
	assert.Equal(t, resp.ErrorReply("ERR max number of clients reached"), err)
	_, err = c.Do(t.Context(), "PING")
	assert.True(t, resp.IsClosed(err), "%v", err)
}

type deaf struct{ net.Conn }

func (deaf) Write([]byte) (int, error) { return 0, errors.New("not that command") }

func TestRefusedWriteIsNoReplyToWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := net.Pipe()
		began := time.Now()
		_, err := resp.NewConn(deaf{client}, time.Second).Do(t.Context(), "PING")
		require.ErrorAs(t, err, new(*resp.WriteError))
		require.EqualError(t, err, "not that command")
		assert.Zero(t, time.Since(began))
	})
}

func TestAuthHidesThePassword(t *testing.T) {
	for text, want := range map[string]string{
		"ERR unknown command 'AUTH', with args beginning with: 'hunter2' ": "ERR unknown command 'AUTH'",
		"ERR odd server, got hunter2, go away":                             "the answer repeats the password, so it is not shown",
		"WRONGPASS invalid username-password pair":                         "WRONGPASS invalid username-password pair",
	} {
		err := connected(t, replying("-"+text+"\r\n")).Auth(t.Context(), "", "hunter2")
		assert.Equal(t, resp.ErrorReply(want), err)
	}
	var got [][]string
	c := connected(t, replying("+OK\r\n", "+OK\r\n"))
	c.Sent = func(args []string, _ error) { got = append(got, args) }
	require.NoError(t, c.Auth(t.Context(), "", "p"))
	require.NoError(t, c.Auth(t.Context(), "u", "p"))
	assert.Equal(t, [][]string{{"AUTH", "p"}, {"AUTH", "u", "p"}}, got)
}

// A TLS server answers plain text with an alert, which has no line end.
func TestForeignProtocolIsShown(t *testing.T) {
	for answer, first := range map[string]string{
		"HTTP/1.1 400 Bad Request\r\n\r\n": "HTTP/1.1",
		"\x15\x03\x01\x00\x02\x02\x46":     "\x15\x03\x01\x00\x02\x02\x46",
		"\r\n":                             "\r\n",
	} {
		_, err := connected(t, replying(answer)).Do(t.Context(), "PING")
		require.ErrorIs(t, err, resp.ErrProtocol, "%q", answer)
		var foreign *resp.ProtocolError
		require.ErrorAs(t, err, &foreign)
		assert.Equal(t, first, foreign.First)
	}
}

// lateContext has passed its deadline, but its Err is still nil.
type lateContext struct{ context.Context }

func (lateContext) Deadline() (time.Time, bool) { return time.Unix(1, 0), true }

// A dial that the deadline of ctx has ended is not reported as a network problem.
func TestDeadlineBeforeItsContext(t *testing.T) {
	over := errors.New("over")
	ctx, end := context.WithCancelCause(t.Context())
	d := resp.Dialer{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, os.ErrDeadlineExceeded }}
	_, err := d.Open(ctx, "tcp", "h:1")
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	go end(over)
	_, err = d.Open(lateContext{ctx}, "tcp", "h:1")
	assert.Equal(t, over, err)
}

func TestHandshakeFailureIsNoDialFailure(t *testing.T) {
	dial := func(context.Context, string, string) (net.Conn, error) {
		client, peer := net.Pipe()
		go func() {
			_, _ = peer.Read(make([]byte, 1024))
			_ = peer.Close()
		}()
		return client, nil
	}
	d := resp.Dialer{Timeout: time.Second, TLS: &tls.Config{MinVersion: tls.VersionTLS12}, Dial: dial}
	_, err := d.Open(t.Context(), "tcp", "h:1")
	require.ErrorAs(t, err, new(*resp.HandshakeError))
	assert.True(t, resp.IsClosed(err), "%v", err)
}

func TestReplyWords(t *testing.T) {
	reply := resp.Reply("*6\r\n$1\r\na\r\n:-3\r\n+b\r\n,1.5\r\n$-1\r\n-ERR\r\n")
	assert.Equal(t, []string{"a", "-3", "b", "1.5", "", ""}, reply.Words())
	assert.Equal(t, map[string]string{"a": "-3", "b": "1.5", "": ""}, reply.Fields())
}
