package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/live"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
)

// cutoverStores are the stores of a cut-over.
type cutoverStores struct {
	old, new *lockupdate.Store
	clients  []*redis.Client
}

// Close closes the stores and their clients. Nothing is left to write.
func (s cutoverStores) Close() {
	_ = errors.Join(s.old.Close(), s.new.Close())
	for _, c := range s.clients {
		_ = c.Close()
	}
}

// diagnose returns why a store does not answer: a Store that gives up tells only that the time was up.
func (s cutoverStores) diagnose(ctx context.Context) (err error) {
	for i, c := range s.clients {
		if pingErr := c.Ping(ctx).Err(); pingErr != nil {
			err = errors.Join(err, fmt.Errorf("-%s: %w", []string{"old", "new", "new-masters"}[min(i, 2)], pingErr))
		}
	}
	return err
}

// mute drops the log of go-redis: commands return the same errors.
type mute struct{}

func (mute) Printf(context.Context, string, ...any) {}

// open makes a Store of each address. It connects at the first command.
func (f *cutoverFlags) open(env func(string) (string, bool)) (s cutoverStores, err error) {
	redis.SetLogger(mute{})
	config, err := f.tlsConfig()
	if err != nil {
		return s, err
	}
	addresses := [][2]string{{"-old", f.old}, {"-new", f.new}}
	if f.newMasters != "" {
		for word := range strings.SplitSeq(f.newMasters, ",") {
			addresses = append(addresses, [2]string{"-new-masters", word})
		}
	}
	for _, side := range addresses {
		a, err := f.address(side[0], side[1], env)
		if err != nil {
			return s, err
		}
		s.clients = append(s.clients, newClient(a, config))
	}
	// The lock of a command that was killed keeps the next one waiting for the lease only.
	cfg := lockupdate.Config{Lease: 2 * time.Second}
	s.old, s.new = lockupdate.New(s.clients[0], cfg), lockupdate.New(s.clients[1], cfg)
	return s, nil
}

// newClient returns a client that works with a server and through a proxy. It sends each command once.
func newClient(a live.Address, config *tls.Config) *redis.Client {
	if a.TLS && config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if a.Primary != "" {
		options := &redis.FailoverOptions{
			MasterName: a.Primary, SentinelAddrs: a.Sentinels, Username: a.Username, Password: a.Password, DB: a.DB,
			Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1,
		}
		if config != nil {
			options.Dialer = proxycompat.TLSDialer(config)
		}
		return redis.NewFailoverClient(options)
	}
	options := proxycompat.Options(proxycompat.Codis32(), a.Host)
	options.DialerRetries = 1
	options.Username, options.Password, options.DB = a.Username, a.Password, a.DB
	if strings.HasPrefix(a.Host, "/") {
		options.Network = "unix"
	}
	if config != nil {
		options.Dialer = proxycompat.TLSDialer(config)
	}
	return redis.NewClient(options)
}
