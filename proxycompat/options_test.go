package proxycompat_test

import (
	"bufio"
	"context"
	"crypto/tls"
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
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
)

func helloDialer(dial redis.DialHook) redis.DialHook { return proxycompat.HelloDialer(dial) }

func TestHelloInEverySplit(t *testing.T) {
	for _, hello := range []string{string(resp.AppendCommand(nil, "hello", "2")), "hello 2\r\n", "hello\r\n"} {
		rest := string(resp.AppendCommand(nil, "HELLOX", "3")) + string(resp.AppendCommand(nil, "HELLO", "3"))
		stream := hello + hello + rest
		for i := range len(stream) + 1 {
			conn, server := piped(t, helloDialer)
			got := received(server, len(rest))
			require.NoError(t, writeSplit(t, conn, stream, i))
			require.Equal(t, rest, <-got, "split at %d: everything but the HELLOs in front goes through", i)
			go func() { _, _ = io.WriteString(server, "+X\r\n") }()
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

// Options returns options without advice, for any proxy.
func TestOptionsNeedNoExplanation(t *testing.T) {
	for _, name := range proxycompat.Names() {
		p := lookup(t, name)
		assert.Empty(t, proxycompat.Explain(proxycompat.Options(p, "proxy:1"), p), name)
	}
	assert.Empty(t, proxycompat.Explain(&redis.Options{ClientName: "x"}, nil), "plain Redis")
	small := extended(t, proxycompat.Codis32(), proxycompat.Changes{Name: "small", Clients: "50", Idle: "1m"})
	o := proxycompat.Options(small, "proxy:1")
	assert.Empty(t, proxycompat.Explain(o, small))
	assert.Equal(t, 48*time.Second, o.ConnMaxIdleTime)
}

func TestExplain(t *testing.T) {
	const fatal, costs = "fatal", "costs"
	type grades map[string]string // by profile; "" is no advice
	for _, c := range []struct {
		option string
		change func(o *redis.Options)
		want   grades
	}{
		{"ClientName", func(o *redis.Options) { o.ClientName = "x" }, grades{"codis": fatal, "twemproxy": fatal, "envoy": ""}},
		{"Username", func(o *redis.Options) { o.Username, o.Password = "x", "y" }, grades{"codis": fatal, "twemproxy": fatal}},
		{"Username", func(o *redis.Options) { o.Username = "x" }, grades{"codis": "", "twemproxy": ""}}, // no AUTH
		{
			"CredentialsProvider", func(o *redis.Options) { o.CredentialsProvider = func() (string, string) { return "", "" } },
			grades{"codis": costs},
		},
		{
			"DB", func(o *redis.Options) { o.DB = 1 },
			grades{"codis": costs, "twemproxy": fatal, "redis": "", "cluster": fatal, "redis-cluster-proxy": fatal},
		},
		{"DB", func(o *redis.Options) { o.DB = -1 }, grades{"codis": "", "twemproxy": ""}},
		{
			"Dialer", func(o *redis.Options) { o.Dialer = nil },
			grades{"codis": costs, "codis@3.2": costs, "twemproxy": fatal, "predixy": costs},
		},
		{
			"AutoPipelineOptions", func(o *redis.Options) { o.AutoPipelineOptions = &redis.AutoPipelineOptions{FullDuplex: true} },
			grades{"codis": fatal, "twemproxy": fatal, "redis": ""},
		},
		{
			"AutoPipelineOptions", func(o *redis.Options) { o.AutoPipelineOptions = &redis.AutoPipelineOptions{} },
			grades{"codis": "", "twemproxy": ""},
		},
		{"DisableIdentity", func(o *redis.Options) { o.DisableIdentity = false }, grades{"codis": costs, "twemproxy": fatal}},
		{"Protocol", func(o *redis.Options) { o.Protocol = 3 }, grades{"codis": costs, "envoy": costs}},
		{"MaintNotificationsConfig", func(o *redis.Options) { // except with Protocol 2
			o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeEnabled}
		}, grades{"codis": ""}},
		{
			"TLSConfig", func(o *redis.Options) { o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12} }, // beside a Dialer
			grades{"codis": fatal, "twemproxy": fatal, "redis": ""},
		},
		{"MaxRetries", func(o *redis.Options) { o.MaxRetries = 0 }, grades{"codis": costs, "redis": ""}},
		{"ReadTimeout", func(o *redis.Options) { o.ReadTimeout = -1 }, grades{"codis": costs}},
		{"ConnMaxIdleTime", func(o *redis.Options) { o.ConnMaxIdleTime = 0 }, grades{"codis": costs, "predixy": costs, "twemproxy": ""}},
		{"PoolSize", func(o *redis.Options) { o.PoolSize = 200 }, grades{"codis": costs, "twemproxy": ""}},
	} {
		for profile, want := range c.want {
			t.Run(c.option+", "+profile, func(t *testing.T) {
				p := lookup(t, profile)
				o := proxycompat.Options(p, "proxy:1")
				c.change(o)
				advice := proxycompat.Explain(o, p)
				if want == "" {
					assert.Empty(t, advice)
					return
				}
				require.Len(t, advice, 1, "%v", advice)
				assert.Equal(t, c.option, advice[0].Option)
				assert.Equal(t, want == fatal, advice[0].Fatal)
				assert.NotEmpty(t, advice[0].Instead)
				assert.Contains(t, advice[0].String(), advice[0].Why)
			})
		}
	}
}

// The defaults of go-redis get this advice.
func TestExplainDefaults(t *testing.T) {
	codis := proxycompat.Codis32()
	advice := proxycompat.Explain(nil, codis)
	require.NotEmpty(t, advice)
	assert.True(t, advice[0].Fatal)
	assert.Equal(t, "Dialer", advice[0].Option)
	assert.Contains(t, advice[0].Why, "HELLO 3 is")
	for i := 1; i < len(advice); i++ {
		assert.False(t, advice[i].Fatal && !advice[i-1].Fatal, "the fatal first")
	}
	tlsOnly := proxycompat.Explain(&redis.Options{TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12}}, codis)
	assert.Contains(t, tlsOnly[0].Instead, "TLSDialer", "which keeps to TLSConfig")
	assert.False(t, proxycompat.Explain(nil, lookup(t, "codis@3.2"))[0].Fatal, "codis-server 3.2 does not know HELLO")
	o := proxycompat.Options(codis, "proxy:1")
	o.ConnMaxIdleTime = 29 * time.Minute
	assert.Empty(t, proxycompat.Explain(o, codis))
}

// The advice on TLSConfig is right: with a Dialer, go-redis sends plain text.
func TestDialerMakesTLSConfigVoid(t *testing.T) {
	client, server := net.Pipe()
	rdb := redis.NewClient(&redis.Options{
		TLSConfig:  &tls.Config{MinVersion: tls.VersionTLS12},
		Dialer:     func(context.Context, string, string) (net.Conn, error) { return client, nil },
		MaxRetries: -1, DialerRetries: 1,
	})
	first := make([]byte, 1)
	seen := make(chan error, 1)
	go func() {
		_, err := io.ReadFull(server, first)
		_ = server.Close()
		seen <- err
	}()
	require.Error(t, rdb.Ping(t.Context()).Err(), "the server has gone")
	require.NoError(t, <-seen)
	assert.Equal(t, "*", string(first), "a command, and no handshake of TLS")
	require.NoError(t, rdb.Close())
}
