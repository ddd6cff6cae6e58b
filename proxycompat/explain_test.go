package proxycompat_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
)

// Options returns options without advice, for any proxy.
func TestOptionsNeedNoExplanation(t *testing.T) {
	for _, name := range proxycompat.Names() {
		p, err := proxycompat.Lookup(name)
		require.NoError(t, err)
		assert.Empty(t, proxycompat.Explain(proxycompat.Options(p, "proxy:1"), p), name)
	}
	assert.Empty(t, proxycompat.Explain(&redis.Options{ClientName: "x"}, nil), "plain Redis")
	small, err := proxycompat.Codis32().Extend(proxycompat.Changes{Name: "small", Clients: 50, Idle: time.Minute})
	require.NoError(t, err)
	o := proxycompat.Options(small, "proxy:1")
	assert.Empty(t, proxycompat.Explain(o, small))
	assert.Equal(t, 48*time.Second, o.ConnMaxIdleTime)
}

func TestExplain(t *testing.T) {
	type grades map[string]string // by profile: grade and option
	enabled := &maintnotifications.Config{Mode: maintnotifications.ModeEnabled}
	for name, c := range map[string]struct {
		change func(o *redis.Options)
		want   grades
	}{
		"client name": {
			func(o *redis.Options) { o.ClientName = "x" },
			grades{"codis": "fatal ClientName", "twemproxy": "fatal ClientName", "envoy": ""},
		},
		"user name": {
			func(o *redis.Options) { o.Username, o.Password = "x", "y" },
			grades{"codis": "fatal Username", "twemproxy": "fatal Username"},
		},
		"database": {
			func(o *redis.Options) { o.DB = 1 },
			grades{"codis": "costs DB", "twemproxy": "fatal DB", "redis": "", "cluster": "fatal DB", "redis-cluster-proxy": "fatal DB"},
		},
		"no dialer": {
			func(o *redis.Options) { o.Dialer = nil },
			grades{"codis": "costs Dialer", "codis@3.2": "costs Dialer", "twemproxy": "fatal Dialer", "predixy": "costs Dialer"},
		},
		"full duplex": {
			func(o *redis.Options) { o.AutoPipelineOptions = &redis.AutoPipelineOptions{FullDuplex: true} },
			grades{"codis": "fatal AutoPipelineOptions", "twemproxy": "fatal AutoPipelineOptions", "redis": ""},
		},
		"half duplex": {
			func(o *redis.Options) { o.AutoPipelineOptions = &redis.AutoPipelineOptions{} },
			grades{"codis": "", "twemproxy": ""},
		},
		"identity": {
			func(o *redis.Options) { o.DisableIdentity = false },
			grades{"codis": "costs DisableIdentity", "twemproxy": "fatal DisableIdentity"},
		},
		"no database":       {func(o *redis.Options) { o.DB = -1 }, grades{"codis": "", "twemproxy": ""}},
		"user, no password": {func(o *redis.Options) { o.Username = "x" }, grades{"codis": "", "twemproxy": ""}},
		"a provider": {
			func(o *redis.Options) { o.CredentialsProvider = func() (string, string) { return "", "" } },
			grades{"codis": "costs CredentialsProvider"},
		},
		"RESP3":         {func(o *redis.Options) { o.Protocol = 3 }, grades{"codis": "costs Protocol", "envoy": "costs Protocol"}},
		"notifications": {func(o *redis.Options) { o.MaintNotificationsConfig = enabled }, grades{"codis": ""}}, // except with Protocol 2
		"TLS beside a dialer": {
			func(o *redis.Options) { o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12} },
			grades{"codis": "fatal TLSConfig", "twemproxy": "fatal TLSConfig", "redis": ""},
		},
		"retries":    {func(o *redis.Options) { o.MaxRetries = 0 }, grades{"codis": "costs MaxRetries", "redis": ""}},
		"no timeout": {func(o *redis.Options) { o.ReadTimeout = -1 }, grades{"codis": "costs ReadTimeout"}},
		"idle": {
			func(o *redis.Options) { o.ConnMaxIdleTime = 0 },
			grades{"codis": "costs ConnMaxIdleTime", "predixy": "costs ConnMaxIdleTime", "twemproxy": ""},
		},
		"large pool": {func(o *redis.Options) { o.PoolSize = 200 }, grades{"codis": "costs PoolSize", "twemproxy": ""}},
	} {
		for profile, want := range c.want {
			t.Run(name+", "+profile, func(t *testing.T) {
				p, err := proxycompat.Lookup(profile)
				require.NoError(t, err)
				o := proxycompat.Options(p, "proxy:1")
				c.change(o)
				advice := proxycompat.Explain(o, p)
				if want == "" {
					assert.Empty(t, advice)
					return
				}
				require.Len(t, advice, 1, "%v", advice)
				grade := "costs "
				if advice[0].Fatal {
					grade = "fatal "
				}
				assert.Equal(t, want, grade+advice[0].Option)
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
	assert.Contains(t, tlsOnly[0].Instead, "redis.NewDialer", "which keeps to TLSConfig")
	over, err := codis.Over("3.2")
	require.NoError(t, err)
	assert.False(t, proxycompat.Explain(nil, over)[0].Fatal, "codis-server 3.2 does not know HELLO")
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
