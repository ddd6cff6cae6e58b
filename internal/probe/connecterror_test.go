package probe_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/probe"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// A slow machine takes its time for what answers.
const (
	patient = 30 * time.Second
	budget  = 10 * patient
)

func reasonOf(t *testing.T, addr string, cfg probe.Config) probe.Reason {
	t.Helper()
	if cfg.Timeout == 0 {
		cfg.Timeout, cfg.Budget = patient, budget
	}
	r, err := probe.Probe(t.Context(), addr, cfg)
	assert.Nil(t, r)
	var failed *probe.ConnectError
	require.ErrorAs(t, err, &failed)
	t.Log(err)
	assert.NotContains(t, err.Error(), "hunter2")
	assert.NotEmpty(t, failed.Reason.Advice())
	return failed.Reason
}

func TestBadAddress(t *testing.T) {
	for _, addr := range []string{"", "localhost", ":6379", "localhost:", "localhost:redis", "h:0", "h:70000", "redis://h:1"} {
		assert.Equal(t, probe.BadAddress, reasonOf(t, addr, probe.Config{}), addr)
	}
}

func TestBadConfig(t *testing.T) {
	for _, cfg := range []probe.Config{{Prefix: "{tag}"}, {Prefix: string(make([]byte, 200))}, {Username: "bob"}} {
		_, err := probe.Probe(t.Context(), "127.0.0.1:1", cfg)
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "bob")
	}
}

func TestNotListening(t *testing.T) {
	assert.Equal(t, probe.NotListening, reasonOf(t, "127.0.0.1:1", probe.Config{}))
}

// serve runs handle on each connection.
func serve(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return serveOn(t, l, handle)
}

func serveOn(t *testing.T, l net.Listener, handle func(net.Conn)) string {
	t.Helper()
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				handle(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

// silent reads until the peer disconnects.
func silent(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// reasonOfSilence is the reason on a connection without replies, after a second of fake time.
func reasonOfSilence(t *testing.T, cfg probe.Config) (reason probe.Reason) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg.Timeout = time.Second
		cfg.Dial = func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go silent(far)
			return near, nil
		}
		reason = reasonOf(t, "192.0.2.1:6379", cfg)
	})
	return reason
}

// says sends a text as the reply to the first command.
func says(text string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 1024))
		_, _ = conn.Write([]byte(text))
		silent(conn)
	}
}

func TestNoRedis(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	assert.Equal(t, probe.NotRedis, reasonOf(t, web.Listener.Addr().String(), probe.Config{}))
	assert.Equal(t, probe.NoAnswer, reasonOfSilence(t, probe.Config{}))
	assert.Equal(t, probe.HangsUp, reasonOf(t, serve(t, func(net.Conn) {}), probe.Config{}))
	for text, want := range map[string]probe.Reason{
		"SSH-2.0-x":                        probe.NotRedis,
		"$x":                               probe.NotRedis,
		"-NOAUTH Authentication required.": probe.WantsPassword,
		"-LOADING Redis is loading":        probe.NotReady,
		"-DENIED Redis is running in protected mode": probe.NotReady,
	} {
		assert.Equal(t, want, reasonOf(t, serve(t, says(text+"\r\n")), probe.Config{}), text)
	}
	// A server that quotes its input.
	for _, text := range []string{"unknown command 'AUTH', with args beginning with: 'hunter2'", "hunter2 is wrong"} {
		addr := serve(t, says("-ERR "+text+"\r\n"))
		assert.Equal(t, probe.BadPassword, reasonOf(t, addr, probe.Config{Password: "hunter2"}), text)
	}
}

// The server accepts PING, and refuses SET with these errors.
func TestNotWritable(t *testing.T) {
	for text, want := range map[string]probe.Reason{
		"-READONLY You can't write against a read only replica.\r\n": probe.NotWritable,
		"-OOM command not allowed\r\n":                               probe.NotWritable,
		"-CLUSTERDOWN Hash slot not served\r\n":                      probe.NotReady,
		"-MOVED 1 127.0.0.1:1\r\n":                                   probe.NotWritable,
	} {
		addr := serve(t, func(conn net.Conn) {
			buf := make([]byte, 1<<16)
			n, _ := conn.Read(buf)
			answer := "+PONG\r\n"
			for n > 0 {
				for range bytes.Count(buf[:n], []byte("*")) { // commands
					_, _ = conn.Write([]byte(answer))
				}
				answer = text
				n, _ = conn.Read(buf)
			}
		})
		assert.Equal(t, want, reasonOf(t, addr, probe.Config{}), text)
	}
}

func TestPassword(t *testing.T) {
	long.Repeats(t)
	proxy := start(t, proxytest.Config{Password: "hunter2"})
	assert.Equal(t, probe.WantsPassword, reasonOf(t, proxy.Addr(), probe.Config{Dial: proxy.Dial}))
	assert.Equal(t, probe.BadPassword, reasonOf(t, proxy.Addr(), probe.Config{Dial: proxy.Dial, Password: "hunter2 "}))
	assert.Equal(t, probe.BadPassword, reasonOf(t, proxy.Addr(), probe.Config{Dial: proxy.Dial, Username: "bob", Password: "hunter2"}))
	assert.Equal(t, "codis", ask(t, proxy, probe.Config{Password: "hunter2"}).MostLike())
}

func TestTLS(t *testing.T) {
	proxy := start(t, proxytest.Config{})
	secure := &tls.Config{MinVersion: tls.VersionTLS12}
	assert.Equal(t, probe.WantsPlain, reasonOf(t, proxy.Addr(), probe.Config{Dial: proxy.Dial, TLS: secure}))
	assert.Equal(t, probe.WantsPlain, reasonOfSilence(t, probe.Config{TLS: secure}))

	web := httptest.NewTLSServer(nil)
	web.Close()
	certificate, pool := web.TLS.Certificates[0], x509.NewCertPool()
	pool.AddCert(web.Certificate())
	wants, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAnyClientCert,
	})
	require.NoError(t, err)
	assert.Equal(t, probe.BadCertificate, reasonOf(t, serveOn(t, wants, silent),
		probe.Config{TLS: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}}))
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := serveOn(t, tls.NewListener(plain, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}),
		func(conn net.Conn) {
			back, err := proxy.Dial(t.Context(), "", "")
			if err != nil {
				return
			}
			defer back.Close()
			var both sync.WaitGroup
			both.Go(func() {
				_, _ = io.Copy(back, conn)
				_ = back.Close()
			})
			_, _ = io.Copy(conn, back)
			_ = conn.Close()
			both.Wait()
		})
	assert.Equal(t, probe.WantsTLS, reasonOf(t, addr, probe.Config{}))
	assert.Equal(t, probe.BadCertificate, reasonOf(t, addr, probe.Config{TLS: secure}))
	trusting := probe.Config{Timeout: patient, Budget: budget, TLS: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}}
	r, err := probe.Probe(t.Context(), addr, trusting)
	require.NoError(t, err)
	assert.Equal(t, "codis", r.MostLike())
}
