package peers

import (
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/unwatch/unwatch/proxycompat"
)

// poolSize is enough for a connection per goroutine, so that no implementation
// waits for one.
const poolSize = 128

// Client returns the go-redis client that all implementations over go-redis use.
// It sends no handshake beyond what go-redis insists on, so that warming up is all
// that a new connection costs.
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
