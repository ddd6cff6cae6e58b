package proxycompat_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// A dial ends with its ctx, or after 5 s, although the inner dial ignores ctx; a connection that comes later is closed.
// The error is that of a dial, so that a command counts as not sent.
func TestHelloDialerLimitsAnyDial(t *testing.T) {
	for name, c := range map[string]struct {
		ctx  func(context.Context) (context.Context, context.CancelFunc)
		took time.Duration
		want error
	}{
		"no deadline": {
			func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} },
			5 * time.Second, context.DeadlineExceeded,
		},
		"deadline": {
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 7*time.Second)
			},
			7 * time.Second, context.DeadlineExceeded,
		},
		"canceled": {
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(time.Second, cancel)
				return ctx, cancel
			},
			time.Second, context.Canceled,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				late := make(chan struct{})
				dial := proxycompat.HelloDialer(func(context.Context, string, string) (net.Conn, error) { <-late; return client, nil })
				ctx, cancel := c.ctx(t.Context())
				defer cancel()
				began := time.Now()
				_, err := dial(ctx, "tcp", "192.0.2.1:1")
				assert.Equal(t, c.took, time.Since(began))
				require.ErrorIs(t, err, c.want)
				requireDialError(t, err)
				close(late)
				_, err = server.Read(make([]byte, 1))
				require.Error(t, err, "the late connection is closed")
			})
		})
	}
}

// Each way to dial a peer that accepts and never answers the handshake of TLS ends with its ctx, also the one
// that an earlier version of this package advised.
func TestSilentPeerOfTLS(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	for name, dial := range map[string]proxycompat.DialFunc{
		"TLSDialer": proxycompat.TLSDialer(config),
		"NewDialer": proxycompat.HelloDialer(redis.NewDialer(&redis.Options{TLSConfig: config})),
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := dial(ctx, "tcp", silent.Addr().String())
		require.ErrorIs(t, err, context.DeadlineExceeded, name)
		requireDialError(t, err)
		cancel()
	}
}

// A failed handshake is an error of the dial, too.
func TestFailedHandshakeIsADialError(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer plain.Close()
	go func() {
		for {
			conn, err := plain.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("-ERR this is no TLS\r\n"))
			_ = conn.Close()
		}
	}()
	_, err = proxycompat.TLSDialer(nil)(t.Context(), "tcp", plain.Addr().String())
	requireDialError(t, err)
}

func requireDialError(t *testing.T, err error) {
	t.Helper()
	op, ok := errors.AsType[*net.OpError](err)
	require.True(t, ok, err)
	require.Equal(t, "dial", op.Op)
}

// Dials take turns. One that fails goes on with the next address, within its time, and tells every failure.
func TestRoundRobinDialer(t *testing.T) {
	for name, c := range map[string]struct {
		down  string // refuse
		hang  string // never answer
		limit time.Duration
		want  []string // connected addresses of four dials; "" for an error
		took  time.Duration
	}{
		"all up":         {want: []string{"a", "b", "c", "a"}},
		"one is down":    {down: "b", want: []string{"a", "c", "c", "a"}},
		"one is left":    {down: "ac", want: []string{"b", "b", "b", "b"}},
		"all are down":   {down: "abc", want: []string{"", "", "", ""}},
		"one hangs":      {hang: "b", limit: 6 * time.Second, want: []string{"a", "c", "c", "a"}, took: 2 * time.Second},
		"all hang":       {hang: "abc", limit: 6 * time.Second, want: []string{"", "", "", ""}, took: 24 * time.Second},
		"hangs, refuses": {hang: "a", down: "b", limit: 6 * time.Second, want: []string{"c", "c", "c", "c"}, took: 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at string
				inner := func(ctx context.Context, network, addr string) (net.Conn, error) {
					assert.Equal(t, "tcp", network)
					if strings.Contains(c.hang, addr) {
						<-ctx.Done()
						return nil, errors.New("hangs: " + addr)
					}
					if strings.Contains(c.down, addr) {
						return nil, errors.New("refused: " + addr)
					}
					at = addr
					client, _ := net.Pipe()
					return client, nil
				}
				addrs := []string{"a", "b", "c"}
				dial := proxycompat.RoundRobinDialer(inner, addrs...)
				addrs[0] = "changed"
				began := time.Now()
				for _, want := range c.want {
					ctx, cancel := t.Context(), context.CancelFunc(func() {})
					if c.limit > 0 {
						ctx, cancel = context.WithTimeout(t.Context(), c.limit)
					}
					at = ""
					conn, err := dial(ctx, "tcp", "ignored")
					cancel()
					assert.Equal(t, want, at)
					if want != "" {
						require.NoError(t, err)
						require.NoError(t, conn.Close())
						continue
					}
					requireDialError(t, err)
					for _, addr := range []string{"a", "b", "c"} {
						assert.ErrorContains(t, err, ": "+addr)
					}
				}
				assert.Equal(t, c.took, time.Since(began))
			})
		})
	}
}

// Without addresses, the dialer is the inner one. A ctx that has ended ends the dial at once.
func TestRoundRobinDialerEnds(t *testing.T) {
	var dialed []string
	ctx, cancel := context.WithCancel(t.Context())
	inner := func(_ context.Context, _, addr string) (net.Conn, error) {
		dialed = append(dialed, addr)
		cancel()
		return nil, errors.New("refused")
	}
	_, err := proxycompat.RoundRobinDialer(inner, "a", "b")(ctx, "tcp", "c")
	requireDialError(t, err)
	_, err = proxycompat.RoundRobinDialer(inner)(ctx, "tcp", "c")
	require.Error(t, err)
	assert.Equal(t, []string{"a", "c"}, dialed)
}

// A client goes on over the other proxy while one of them is down.
func TestClientOfTwoProxies(t *testing.T) {
	store := miniredis.RunT(t)
	var proxies []*proxytest.Proxy
	var addrs []string
	for range 2 {
		p, err := proxytest.Start(proxytest.Config{Backends: []string{store.Addr()}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close()) })
		proxies, addrs = append(proxies, p), append(addrs, p.Addr())
	}
	options := proxycompat.Options(proxycompat.Codis32(), addrs[0])
	options.DialerRetries = 1
	options.Dialer = proxycompat.RoundRobinDialer(options.Dialer, addrs...)
	rdb := redis.NewClient(options)
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	for range 20 {
		require.NoError(t, rdb.Incr(t.Context(), "n").Err())
	}
	require.NoError(t, proxies[0].Close())
	failed := 0
	for range 20 {
		if rdb.Incr(t.Context(), "n").Err() != nil {
			failed++ // a command in flight, or over a connection that is closed
		}
	}
	assert.LessOrEqual(t, failed, 1)
	assert.NotZero(t, proxies[1].Count()["INCR"])
}
