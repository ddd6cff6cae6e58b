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

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/servers"
)

// certificate makes a self-signed certificate for servers and clients, in two PEM files.
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

// redisTLS starts a server with TLS at addr, as redis.example, that requires client certificates. trusted
// has an accepted one.
func redisTLS(t *testing.T) (plain *servers.Server, addr string, trusted *tls.Config) {
	t.Helper()
	cert, key, pool := certificate(t)
	plain = servers.Redis(t, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert)
	rdb := redis.NewClient(&redis.Options{Addr: plain.Addr})
	defer func() { _ = rdb.Close() }()
	for try := 1; ; try++ {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		addr = l.Addr().String()
		_, port, _ := net.SplitHostPort(addr)
		require.NoError(t, l.Close())
		err = rdb.ConfigSet(t.Context(), "tls-port", port).Err()
		if err == nil {
			break
		}
		require.Less(t, try, 10, "%v", err) // another program took the port
	}
	own, err := tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)
	return plain, addr, &tls.Config{
		RootCAs: pool, ServerName: "redis.example", Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12,
	}
}
