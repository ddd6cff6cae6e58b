package proxycompat

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"
)

// dialTimeout limits a dial with a ctx that has no deadline. It is go-redis' default DialTimeout.
const dialTimeout = 5 * time.Second

// TLSDialer returns a [HelloDialer] that speaks TLS. Options.TLSConfig has no effect beside a Dialer:
//
//	opts := proxycompat.Options(profile, addr)
//	opts.Dialer = proxycompat.TLSDialer(&tls.Config{MinVersion: tls.VersionTLS12})
//
// An empty ServerName counts as the host of the address. A nil config is the zero tls.Config. The handshake is
// part of the dial, and ends with it.
//
// Do not use redis.NewDialer(opts) in its place: it reads opts.DialTimeout before go-redis has set the default, and
// its handshake ignores ctx, so that a peer that never answers blocks the dial for ever.
func TLSDialer(config *tls.Config) DialFunc {
	return HelloDialer((&tls.Dialer{NetDialer: new(net.Dialer), Config: config}).DialContext)
}

// RoundRobinDialer returns a dialer that spreads connections over several proxies in front of one store:
//
//	addrs := []string{"proxy-0:19000", "proxy-1:19000"}
//	opts := proxycompat.Options(profile, addrs[0])
//	opts.Dialer = proxycompat.RoundRobinDialer(opts.Dialer, addrs...)
//
// Each dial begins with the next address, and goes on to the others while none accepts. The address that
// it is called with has no effect, unless addrs is empty. If ctx has a deadline, each address gets an equal share of
// the time that is left. The dialer sends nothing: it does not notice that a proxy hangs, or that the addresses lead to
// different stores. A command that hangs ends by its timeout, and its next connection is likely to another proxy.
//
// After a restart of a proxy, its clients come back as their connections are replaced: see ConnMaxLifetime of
// redis.Options. A nil inner is [HelloDialer] over a net.Dialer.
func RoundRobinDialer(inner DialFunc, addrs ...string) DialFunc {
	if inner == nil {
		inner = HelloDialer(nil)
	}
	addrs = slices.Clone(addrs)
	var dials atomic.Uint64
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if len(addrs) == 0 {
			return inner(ctx, network, addr)
		}
		first := dials.Add(1) - 1
		var errs []error
		for i := range addrs {
			at := addrs[(first+uint64(i))%uint64(len(addrs))]
			conn, err := dialShare(ctx, inner, network, at, len(addrs)-i)
			if err == nil {
				return conn, nil
			}
			errs = append(errs, err)
			if ctx.Err() != nil {
				break
			}
		}
		return nil, dialError(network, errors.Join(errs...))
	}
}

// dialShare dials within the n-th part of the time that ctx has left.
func dialShare(ctx context.Context, dial DialFunc, network, addr string, n int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(n))
		defer cancel()
	}
	return dial(ctx, network, addr)
}

// dialWithin dials until ctx ends, or for dialTimeout if ctx has no deadline, also if dial ignores ctx: then its
// connection is closed when it comes. Each error is a net.OpError of Op "dial", which tells that no command was sent.
func dialWithin(ctx context.Context, dial DialFunc, network, addr string) (net.Conn, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, dialTimeout)
		defer cancel()
	}
	type dialed struct {
		conn net.Conn
		err  error
	}
	began, done := time.Now(), make(chan dialed, 1)
	go func() {
		conn, err := dial(ctx, network, addr)
		done <- dialed{conn, err}
	}()
	select {
	case d := <-done:
		return d.conn, dialError(network, d.err)
	case <-ctx.Done():
	}
	go func() {
		if d := <-done; d.err == nil {
			_ = d.conn.Close() // nothing was sent over it
		}
	}()
	took := time.Since(began).Round(time.Millisecond)
	return nil, dialError(network, fmt.Errorf("%s: no connection after %v: %w", addr, took, ctx.Err()))
}

func dialError(network string, err error) error {
	if op, ok := errors.AsType[*net.OpError](err); err == nil || ok && op.Op == "dial" {
		return err
	}
	return &net.OpError{Op: "dial", Net: network, Err: err}
}
