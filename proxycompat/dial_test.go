package proxycompat_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
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
