package redisx

import "github.com/redis/go-redis/v9"

// IsFullDuplex reports whether a client is an AutoPipeliner with FullDuplex. It queues a
// command before it calls hooks, so that a refusal ends the connection, and its error says
// "not sent" of commands of other callers that the server has executed.
func IsFullDuplex(client any) bool {
	auto, ok := client.(interface {
		Config() redis.AutoPipelineOptions
	})
	return ok && auto.Config().FullDuplex
}
