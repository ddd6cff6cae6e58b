package redisx

import "github.com/redis/go-redis/v9"

// IsFullDuplex reports whether a client is an AutoPipeliner with FullDuplex. It queues a command before it
// calls hooks, so that a refusal ends the connection. Other callers' executed commands then fail with an
// error that means "not sent".
func IsFullDuplex(client any) bool {
	auto, ok := client.(interface {
		Config() redis.AutoPipelineOptions
	})
	return ok && auto.Config().FullDuplex
}
