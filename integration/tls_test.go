package integration

import (
	"context"
	"crypto/tls"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

// overTLS opens a Store with this TLS configuration; nil is plain text.
func overTLS(t *testing.T, path, addr string, config *tls.Config) rmw.Store {
	t.Helper()
	opts := proxycompat.Options(proxycompat.Redis(), addr)
	opts.TLSConfig, opts.ReadTimeout, opts.MaxRetries = config, time.Second, -1
	opts.DialTimeout, opts.DialerRetries = 500*time.Millisecond, 1 // a plain-text server never completes a handshake
	rdb := redis.NewClient(opts)
	var s closer = cas.New(rdb, cas.Config{})
	if path == "lockupdate" {
		s = lockupdate.New(rdb, lockupdate.Config{})
	}
	t.Cleanup(func() {
		_ = s.Close() // reports a lock with an unanswered acquire
		assert.NoError(t, rdb.Close())
	})
	return s
}

// Both paths work over TLS. Without trust they write nothing, and the error names the certificate's defect.
func TestPathsOverTLS(t *testing.T) {
	t.Parallel()
	plain, addr, trusted := redisTLS(t)
	_, _, stranger := certificate(t) // an authority that has not signed the server's certificate
	change := func(edit func(c *tls.Config)) *tls.Config {
		c := trusted.Clone()
		edit(c)
		return c
	}
	const (
		unknown   = "x509: certificate signed by unknown authority"
		otherName = "valid for redis.example, not other.example"
		old       = tls.VersionTLS10
	)
	admin := client(t, plain.Addr)
	for _, path := range []string{"cas", "lockupdate"} {
		t.Run(path, func(t *testing.T) {
			s := overTLS(t, path, addr, trusted)
			for _, key := range []rmw.Key{{Name: path + ":text"}, {Name: path + ":hash", Kind: rmw.KindHash, TTL: time.Hour}} {
				for i := range 3 {
					next := rmw.String(fmt.Sprint(i))
					if key.Kind == rmw.KindHash {
						next = rmw.Hash(map[string]string{"n": fmt.Sprint(i)})
					}
					_, err := s.Update(t.Context(), key, func(context.Context, rmw.Value) (rmw.Value, error) { return next, nil })
					require.NoError(t, err)
					got, err := s.Read(t.Context(), key)
					require.NoError(t, err)
					assert.True(t, got.Equal(next))
				}
			}

			for name, tc := range map[string]struct {
				config *tls.Config
				addr   string
				says   string
			}{
				"another authority":     {change(func(c *tls.Config) { c.RootCAs = stranger }), addr, unknown},
				"no authority":          {change(func(c *tls.Config) { c.RootCAs = nil }), addr, unknown},
				"another name":          {change(func(c *tls.Config) { c.ServerName = "other.example" }), addr, otherName},
				"no certificate of us":  {change(func(c *tls.Config) { c.Certificates = nil }), addr, ""},
				"plain text to TLS":     {nil, addr, ""},
				"TLS to plain text":     {trusted, plain.Addr, ""},
				"an old version of TLS": {change(func(c *tls.Config) { c.MinVersion, c.MaxVersion = old, old }), addr, "protocol version"},
			} {
				key := rmw.Key{Name: path + ":" + name}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				called := false
				_, err := overTLS(t, path, tc.addr, tc.config).Update(ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) {
					called = true
					return rmw.String("x"), nil
				})
				cancel()
				require.ErrorIs(t, err, rmw.ErrUnavailable, name)
				assert.ErrorContains(t, err, tc.says, name)
				t.Logf("%s: %v", name, err)
				assert.False(t, called, name)
				n, err := admin.Exists(t.Context(), key.Name, "/lock/"+key.Name).Result()
				require.NoError(t, err)
				assert.Zero(t, n, "%s: nothing is written", name)
			}
		})
	}
}
