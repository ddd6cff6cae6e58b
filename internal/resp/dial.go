package resp

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"
)

// Dialer opens connections.
type Dialer struct {
	// Timeout limits a dial, the TLS handshake included. 0: none.
	Timeout time.Duration
	// TLS, if not nil, encrypts. An empty ServerName becomes the host of the address.
	TLS *tls.Config
	// Dial connects. nil: the DialContext of a net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// HandshakeError is the error of a TLS handshake.
type HandshakeError struct{ Err error }

func (e *HandshakeError) Error() string { return "no TLS: " + e.Err.Error() }

// Unwrap returns Err.
func (e *HandshakeError) Unwrap() error { return e.Err }

// Open connects. If ctx has ended, the error is its cause.
func (d Dialer) Open(ctx context.Context, network, addr string) (net.Conn, error) {
	limited := ctx
	if d.Timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, d.Timeout)
		defer cancel()
	}
	conn, err := d.open(limited, network, addr)
	if err != nil {
		if cause := ended(ctx); cause != nil {
			return nil, cause
		}
	}
	return conn, err
}

func (d Dialer) open(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := d.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	conn, err := dial(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("no connection: %w", err)
	}
	if d.TLS == nil {
		return conn, nil
	}
	secure := tls.Client(conn, named(d.TLS, addr))
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // the error of the handshake matters
		return nil, &HandshakeError{err}
	}
	return secure, nil
}

func named(cfg *tls.Config, addr string) *tls.Config {
	if cfg.ServerName != "" || cfg.InsecureSkipVerify {
		return cfg
	}
	cfg = cfg.Clone()
	cfg.ServerName, _, _ = net.SplitHostPort(addr)
	return cfg
}
