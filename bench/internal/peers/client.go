package peers

import (
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/unwatch/unwatch/proxycompat"
)

// poolSize allows a connection per goroutine.
const poolSize = 128

// Client returns the go-redis client for all implementations over go-redis. It sends no optional
// handshake, so warming up covers the cost of its connections.
func Client(o Options) *redis.Client {
	if o.Proxy {
		options := proxycompat.Options(proxycompat.Twemproxy05(), o.Addr)
		options.PoolSize, options.MaxActiveConns = poolSize, poolSize
		options.Dialer = counting(o.Commands, options.Dialer)
		return redis.NewClient(options)
	}
	options := &redis.Options{
		Addr:                     o.Addr,
		Protocol:                 2,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		PoolSize:                 poolSize,
	}
	options.Dialer = counting(o.Commands, redis.NewDialer(options))
	return redis.NewClient(options)
}
