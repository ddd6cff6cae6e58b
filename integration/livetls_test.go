package integration

import (
	"crypto/tls"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/live"
)

func TestLiveTLS(t *testing.T) {
	t.Parallel()
	plain, addr, trusted := redisTLS(t)
	pool := trusted.RootCAs
	r := looked(t, live.Address{Host: addr, TLS: true}, live.Config{TLS: trusted}, func() {
		require.NoError(t, client(t, plain.Addr).Publish(t.Context(), "events", "x").Err())
	})
	assert.Equal(t, live.Findings, r.Verdict, r.Incomplete)
	assert.Equal(t, int64(1), r.Uses)

	for name, cfg := range map[string]live.Config{
		"another authority": {}, "another name": {TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}},
	} {
		_, err := tryLook(t.Context(), live.Address{Host: addr, TLS: true}, cfg, nil)
		assert.ErrorContains(t, err, "no TLS", name)
	}
	_, err := tryLook(t.Context(), live.Address{Host: addr}, live.Config{}, nil)
	assert.Error(t, err, "plain text at the port of TLS")
	_, err = tryLook(t.Context(), live.Address{Host: plain.Addr, TLS: true}, live.Config{TLS: trusted}, nil)
	assert.ErrorContains(t, err, "no TLS")
}
