package proxycompat_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
)

// piped returns a connection that wrap makes of one end of a pipe, and the other end.
func piped(t *testing.T, wrap func(redis.DialHook) redis.DialHook) (conn, server net.Conn) {
	t.Helper()
	client, server := net.Pipe()
	conn, err := wrap(func(context.Context, string, string) (net.Conn, error) { return client, nil })(background, "", "")
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(); _ = server.Close() })
	return conn, server
}

func helloDialer(dial redis.DialHook) redis.DialHook { return proxycompat.HelloDialer(dial) }

func TestHelloInEverySplit(t *testing.T) {
	for _, hello := range []string{string(resp.AppendCommand(nil, "hello", "2")), "hello 2\r\n", "hello\r\n"} {
		rest := string(resp.AppendCommand(nil, "HELLOX", "3")) + string(resp.AppendCommand(nil, "HELLO", "3"))
		stream := hello + hello + rest
		for i := range len(stream) + 1 {
			conn, server := piped(t, helloDialer)
			got := make(chan string)
			go func() {
				b, _ := io.ReadAll(io.LimitReader(server, int64(len(rest))))
				got <- string(b)
				_, _ = io.WriteString(server, "+X\r\n")
			}()
			for _, part := range []string{stream[:i], stream[i:]} {
				n, err := io.WriteString(conn, part)
				require.NoError(t, err)
				require.Equal(t, len(part), n)
			}
			require.Equal(t, rest, <-got, "split at %d: everything but the HELLOs in front goes through", i)
			br := bufio.NewReader(conn)
			for _, want := range []string{"array", "array", "status"} {
				r, err := resp.ReadReply(nil, br, resp.Limits{})
				require.NoError(t, err)
				require.Equal(t, want, r.Kind())
			}
		}
	}
}

func TestHelloAnswers(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"HELLO", "3"}, "NOPROTO unsupported protocol version"},
		{[]string{"HELLO", "2", "AUTH", "default", "pw"}, "ERR unknown command 'hello'"},
		{[]string{"HELLO", "3", "SETNAME", "x"}, "ERR unknown command 'hello'"},
	} {
		conn, _ := piped(t, helloDialer)
		_, err := conn.Write(resp.AppendCommand(nil, test.args...))
		require.NoError(t, err)
		_, err = conn.Read(nil)
		require.NoError(t, err, "a read of no bytes")
		r, err := resp.ReadReply(nil, bufio.NewReader(conn), resp.Limits{})
		require.NoError(t, err)
		text, _ := r.ErrorText()
		assert.Equal(t, test.want, text)
	}
}

func TestHelloReadWaitsAndWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, _ := piped(t, helloDialer)
		began := time.Now()
		require.NoError(t, conn.SetReadDeadline(began.Add(3*time.Second)))
		_, err := conn.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.Equal(t, 3*time.Second, time.Since(began))

		require.NoError(t, conn.SetDeadline(time.Time{}))
		got := make(chan error, 1)
		read := func() {
			_, err := conn.Read(make([]byte, 1))
			got <- err
		}
		go read()
		synctest.Wait()
		_, err = conn.Write(resp.AppendCommand(nil, "HELLO"))
		require.NoError(t, err)
		require.NoError(t, <-got, "a read that was already waiting gets the answer")
		_, err = resp.ReadReply(nil, bufio.NewReader(io.MultiReader(strings.NewReader("*"), conn)), resp.Limits{})
		require.NoError(t, err, "the rest of the answer")

		go read()
		synctest.Wait()
		require.NoError(t, conn.Close())
		require.ErrorIs(t, <-got, net.ErrClosed)
		_, err = conn.Write([]byte("x"))
		require.ErrorIs(t, err, net.ErrClosed)
	})
}

func TestHelloDialerKeepsTheSyscallConn(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	conn, err := proxycompat.HelloDialer(nil)(background, "tcp", l.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	raw, ok := conn.(syscall.Conn)
	require.True(t, ok, "go-redis checks idle connections through it")
	_, err = raw.SyscallConn()
	require.NoError(t, err)

	boom := errors.New("boom")
	_, err = proxycompat.HelloDialer(func(context.Context, string, string) (net.Conn, error) { return nil, boom })(background, "", "")
	require.ErrorIs(t, err, boom)
}

func TestOptions(t *testing.T) {
	o := proxycompat.Options(proxycompat.Codis32(), "proxy:19000")
	assert.Equal(t, 2, o.Protocol)
	assert.True(t, o.DisableIdentity)
	assert.Equal(t, -1, o.MaxRetries)
	assert.NotNil(t, o.Dialer)
	assert.Nil(t, proxycompat.Options(proxycompat.Redis(), "x:1").Dialer)
	for _, addr := range []string{"", "localhost", "localhost:", "localhost:x", ":6379", "a:b:1", "h:70000"} {
		o := proxycompat.Options(proxycompat.Twemproxy05(), addr)
		o.Addr = addr // go-redis would replace an empty address with localhost:6379
		o.DialerRetries = 1
		_, err := o.Dialer(background, "tcp", addr)
		require.ErrorContains(t, err, "bad proxy address", addr)
		if addr != "" {
			rdb := redis.NewClient(o)
			require.ErrorContains(t, rdb.Ping(background).Err(), "bad proxy address")
			require.NoError(t, rdb.Close())
		}
	}
}
