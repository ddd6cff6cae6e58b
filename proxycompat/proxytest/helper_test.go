package proxytest_test

import (
	"bufio"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// The client logs every failed dial, and these tests fail thousands.
func TestMain(m *testing.M) {
	logging.Disable()
	m.Run()
}

var background = context.Background()

func twemproxy() *proxycompat.Profile { return proxycompat.Twemproxy05() }

func profile(t *testing.T, name string) *proxycompat.Profile {
	t.Helper()
	p, err := proxycompat.Lookup(name)
	require.NoError(t, err)
	return p
}

// start starts a proxy and a client for the duration of the test.
func start(t *testing.T, cfg proxytest.Config) (*proxytest.Proxy, *redis.Client) {
	t.Helper()
	p, err := proxytest.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p, client(t, p.Options())
}

// client returns a client for the duration of the test.
func client(t *testing.T, opt *redis.Options) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(opt)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// wire is a raw RESP connection.
type wire struct {
	t    *testing.T
	conn net.Conn
	br   *bufio.Reader
}

func dial(t *testing.T, p *proxytest.Proxy) *wire {
	t.Helper()
	conn, err := p.Dial(t.Context(), "", "")
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &wire{t: t, conn: conn, br: bufio.NewReader(conn)}
}

// send writes commands, each given as words, in one write.
func (w *wire) send(commands ...string) {
	var out []byte
	for _, c := range commands {
		out = resp.AppendCommand(out, strings.Fields(c)...)
	}
	_, err := w.conn.Write(out)
	require.NoError(w.t, err)
}

// reply reads one reply and shows it on one line.
func (w *wire) reply() string {
	w.t.Helper()
	require.NoError(w.t, w.conn.SetReadDeadline(time.Now().Add(5*time.Second)))
	r, err := resp.ReadReply(nil, w.br, resp.Limits{})
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(strings.TrimSuffix(string(r), "\r\n"), "\r\n", "|")
}

// ask sends one command and reads its reply.
func (w *wire) ask(command string) string {
	w.t.Helper()
	w.send(command)
	return w.reply()
}

// expect asks a command and compares its reply, for each pair of command and reply.
func (w *wire) expect(pairs ...string) {
	w.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		assert.Equal(w.t, pairs[i+1], w.ask(pairs[i]), pairs[i])
	}
}

// pipeline sends commands in one write, and compares their replies.
func (w *wire) pipeline(commands []string, want ...string) {
	w.t.Helper()
	w.send(commands...)
	for i, reply := range want {
		assert.Equal(w.t, reply, w.reply(), "reply %d to %q", i, commands)
	}
}

// keysOnTwo returns two keys of backends 0 and 1.
func keysOnTwo(p *proxytest.Proxy) (zero, one string) {
	for c := 'a'; zero == "" || one == ""; c++ {
		if p.BackendOf(string(c)) == 0 {
			zero = string(c)
		} else {
			one = string(c)
		}
	}
	return zero, one
}
