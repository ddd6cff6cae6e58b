package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cmd/migrate-check/live"
	"github.com/unwatch/unwatch/internal/servers"
)

// certificate makes one that signs itself, for servers and clients, in two PEM files.
func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis.example"}, DNSNames: []string{"redis.example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, &x509.Certificate{Subject: pkix.Name{CommonName: "redis.example"}}, &private.PublicKey, private)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(private)
	require.NoError(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	require.NoError(t, os.WriteFile(cert, certPEM, 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), 0o600))
	pool = x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(certPEM))
	return cert, key, pool
}

func TestLiveTLS(t *testing.T) {
	cert, key, pool := certificate(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	require.NoError(t, l.Close())
	plain := servers.Redis(t, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert)
	own, err := tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)

	trusted := &tls.Config{RootCAs: pool, ServerName: "redis.example", Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}
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
	_, err = tryLook(t.Context(), live.Address{Host: addr}, live.Config{}, nil)
	assert.Error(t, err, "plain text at the port of TLS")
	_, err = tryLook(t.Context(), live.Address{Host: plain.Addr, TLS: true}, live.Config{TLS: trusted}, nil)
	assert.ErrorContains(t, err, "no TLS")
}
