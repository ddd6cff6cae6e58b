package proxycompat_test

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// The client logs every failed dial, and these tests fail thousands.
func TestMain(m *testing.M) {
	logging.Disable()
	m.Run()
}

var background = context.Background()

func lookup(t *testing.T, name string) *proxycompat.Profile {
	t.Helper()
	p, err := proxycompat.Lookup(name)
	require.NoError(t, err)
	return p
}

func extended(t *testing.T, base *proxycompat.Profile, changes proxycompat.Changes) *proxycompat.Profile {
	t.Helper()
	p, err := base.Extend(changes)
	require.NoError(t, err)
	return p
}

// emulated returns an emulator of the profile's proxy, and a client of it with changed options.
func emulated(t *testing.T, profile *proxycompat.Profile, change func(*redis.Options)) (*proxytest.Proxy, *redis.Client) {
	t.Helper()
	p, err := proxytest.Start(proxytest.Config{Profile: profile, InMemory: true})
	require.NoError(t, err)
	opt := p.Options()
	if change != nil {
		change(opt)
	}
	rdb := redis.NewClient(opt)
	t.Cleanup(func() {
		_ = rdb.Close()
		require.NoError(t, p.Close())
	})
	return p, rdb
}

// hooked is like emulated; the client has the profile's hook.
func hooked(t *testing.T, profile *proxycompat.Profile, change func(*redis.Options)) (*proxytest.Proxy, *redis.Client) {
	t.Helper()
	p, rdb := emulated(t, profile, change)
	rdb.AddHook(proxycompat.Hook(profile))
	return p, rdb
}

func noop(context.Context, redis.Cmder) error { return nil }

// piped returns a connection that wrap makes of one end of a pipe, and the other end.
func piped(t *testing.T, wrap func(redis.DialHook) redis.DialHook) (conn, server net.Conn) {
	t.Helper()
	client, server := net.Pipe()
	conn, err := wrap(func(context.Context, string, string) (net.Conn, error) { return client, nil })(background, "", "")
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(); _ = server.Close() })
	return conn, server
}

// writeSplit writes a text in two parts, until an error.
func writeSplit(t *testing.T, conn io.Writer, text string, at int) error {
	t.Helper()
	for _, part := range []string{text[:at], text[at:]} {
		n, err := io.WriteString(conn, part)
		if err != nil {
			return err
		}
		assert.Len(t, part, n)
	}
	return nil
}

// received returns the bytes that reach the server until the connection ends, or their number is n.
func received(server io.Reader, n int) <-chan string {
	got := make(chan string)
	go func() {
		b, _ := io.ReadAll(io.LimitReader(server, int64(n)))
		got <- string(b)
	}()
	return got
}
