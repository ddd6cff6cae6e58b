package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/live"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
)

// cutoverStores are the stores of a cut-over.
type cutoverStores struct {
	old, new *lockupdate.Store
	clients  []*redis.Client    // of old and new, over all addresses of each
	masters  [2][]*redis.Client // the servers that are scanned; without -old-masters, clients[0]
	proxies  [2][]*redis.Client // a client of each address, if a store has several
	opened   []openedClient
}

// openedClient is a client and the flag that names its address.
type openedClient struct {
	flag string
	*redis.Client
}

// Close closes the stores and their clients. Nothing is left to write.
func (s cutoverStores) Close() {
	_ = errors.Join(s.old.Close(), s.new.Close())
	for _, c := range s.opened {
		_ = c.Close()
	}
}

// diagnose returns why a store does not answer: a Store that gives up tells only that the time was up.
func (s cutoverStores) diagnose(ctx context.Context) (err error) {
	for _, c := range s.opened {
		if pingErr := c.Ping(ctx).Err(); pingErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", c.flag, pingErr))
		}
	}
	return err
}

// mute drops the log of go-redis: commands return the same errors.
type mute struct{}

func (mute) Printf(context.Context, string, ...any) {}

// open makes a Store of the addresses of each side. It connects at the first command.
func (f *cutoverFlags) open(env func(string) (string, bool)) (s cutoverStores, err error) {
	redis.SetLogger(mute{})
	config, err := f.tlsConfig()
	if err != nil {
		return s, err
	}
	client := func(flag string, addresses ...live.Address) *redis.Client {
		c := newClient(addresses, config)
		s.opened = append(s.opened, openedClient{flag, c})
		return c
	}
	for i, list := range []string{f.old, f.new} {
		flag := "-" + sideNames[i]
		addresses, err := f.addresses(flag, list, env)
		if err == nil {
			err = interchangeable(flag, addresses)
		}
		if err != nil {
			return s, err
		}
		s.clients = append(s.clients, client(flag, addresses...))
		if len(addresses) > 1 {
			for _, a := range addresses {
				s.proxies[i] = append(s.proxies[i], client(flag, a))
			}
		}
	}
	for i, list := range []string{f.oldMasters, f.newMasters} {
		if list == "" {
			continue
		}
		flag := "-" + sideNames[i] + "-masters"
		addresses, err := f.addresses(flag, list, env)
		if err != nil {
			return s, err
		}
		for _, a := range addresses {
			s.masters[i] = append(s.masters[i], client(flag, a))
		}
	}
	if s.masters[0] == nil {
		s.masters[0] = s.clients[:1]
	}
	// The lock of a command that was killed keeps the next one waiting for the lease only.
	cfg := lockupdate.Config{Lease: 2 * time.Second}
	s.old, s.new = lockupdate.New(s.clients[0], cfg), lockupdate.New(s.clients[1], cfg)
	return s, nil
}

// addresses parses addresses with commas between them. One that has a comma itself, as in its password, stands alone.
func (f *cutoverFlags) addresses(flag, list string, env func(string) (string, bool)) (all []live.Address, err error) {
	one, err := f.address(flag, list, env)
	if err == nil && (strings.HasPrefix(one.Host, "/") || !strings.Contains(one.Host, ",")) {
		return []live.Address{one}, nil
	}
	for word := range strings.SplitSeq(list, ",") {
		if one, err = f.address(flag, word, env); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// interchangeable returns an error unless one client can use all addresses.
func interchangeable(flag string, addresses []live.Address) error {
	for _, a := range addresses[1:] {
		same := addresses[0]
		same.Host = a.Host
		if a.Primary != "" || !reflect.DeepEqual(a, same) {
			return fmt.Errorf("%s: several addresses are of proxies in front of one store: they need the same user, password, "+
				"database and TLS, and cannot be sentinels", flag)
		}
	}
	return nil
}

// commands returns the clients as a pass wants them.
func commands(clients []*redis.Client) (all []cutover.Commands) {
	for _, c := range clients {
		all = append(all, c)
	}
	return all
}

// newClient returns a client that works with a server, and through the proxies in front of one store. It sends each
// command once.
func newClient(all []live.Address, config *tls.Config) *redis.Client {
	a := all[0]
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
	if len(all) > 1 {
		hosts := make([]string, len(all))
		for i, one := range all {
			hosts[i] = one.Host
		}
		options.Dialer = proxycompat.RoundRobinDialer(options.Dialer, hosts...)
	}
	return redis.NewClient(options)
}
