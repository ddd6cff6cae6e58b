package proxycompat

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Options returns new go-redis options that work through the profile's proxy; the caller may change them.
// For the profile "redis" only Addr is set.
//
//   - Protocol 2, no CLIENT SETINFO and no maintenance notifications: a proxy refuses these
//     commands or closes the connection.
//   - Dialer is [HelloDialer], since go-redis always sends HELLO. The Dialer also checks
//     the address and reports a mistyped one. go-redis ignores TLSConfig when there is a
//     Dialer: for TLS, build the options, then set Dialer to TLSDialer(config).
//   - ContextTimeoutEnabled, so that a command ends with the deadline of its ctx, and leaves no connection behind
//     that waits for a backend that hangs.
//   - MaxRetries -1. With its default of 3, go-redis sends a script that timed
//     out up to four times, and each of them may be executed.
//   - PoolSize 20 and PipelinePoolSize 10, with a hard limit on both: a Codis
//     proxy accepts 1000 clients (proxy_max_clients) from all processes
//     together, which is enough for 33 of these pools. They are smaller in proportion if
//     [Profile.Clients] is below 1000.
//   - ConnMaxIdleTime 4 minutes: below the 30 minutes after which Codis closes
//     an idle client (session_recv_timeout), and below the 5 minutes that
//     other proxies and load balancers often use. It is shorter if [Profile.Idle] is shorter.
//
// Leave ClientName and Username empty: CLIENT SETNAME and AUTH with a user name fail on Codis and
// twemproxy, and with them every command. Set ReadTimeout (go-redis' default is 5 s) above the longest
// stall that you expect during slot migration.
//
// To allow more connections raise PoolSize and MaxActiveConns together: beyond MaxActiveConns, go-redis
// fails instead of waiting. A nil profile counts as [Redis].
func Options(profile *Profile, addr string) *redis.Options {
	if profile == nil || profile.permitsAll() {
		return &redis.Options{Addr: addr}
	}
	pool, pipelines, idle := 20, 10, 4*time.Minute
	if limit := profile.clients; limit > 0 {
		pool, pipelines = max(1, min(pool, limit/50)), max(1, min(pipelines, limit/100))
	}
	if limit := profile.idle; limit > 0 {
		idle = min(idle, limit*4/5)
	}
	return &redis.Options{
		Addr:                     addr,
		Protocol:                 2,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		ContextTimeoutEnabled:    true,
		MaxRetries:               -1,
		PoolSize:                 pool,
		MaxActiveConns:           pool,
		PipelinePoolSize:         pipelines,
		ConnMaxIdleTime:          idle,
		Dialer:                   HelloDialer(checkedDial),
	}
}

// checkedDial reports an invalid address before the resolver fails with a less clear error.
func checkedDial(ctx context.Context, network, addr string) (net.Conn, error) {
	if network != "unix" {
		if err := checkAddr(addr); err != nil {
			return nil, err
		}
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

func checkAddr(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("proxycompat: bad proxy address %q, want host:port: %w", addr, err)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("proxycompat: bad proxy address %q: %q is not a port", addr, port)
	}
	if host == "" {
		return fmt.Errorf("proxycompat: bad proxy address %q: no host", addr)
	}
	return nil
}
