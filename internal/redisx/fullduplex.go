package redisx

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/rmw"
)

// IsFullDuplex reports whether a client is an AutoPipeliner with FullDuplex. It queues a command before it
// calls hooks, so that a refusal ends the connection. Other callers' executed commands then fail with an
// error that means "not sent".
func IsFullDuplex(client any) bool {
	auto, ok := client.(interface {
		Config() redis.AutoPipelineOptions
	})
	return ok && auto.Config().FullDuplex
}

// ErrFullDuplex is why constructor refuses such a client.
func ErrFullDuplex(constructor string) error {
	return fmt.Errorf("%w: %s cannot use an AutoPipeliner with FullDuplex, whose commands no hook can refuse; "+
		"use the client itself, or AutoPipelineOptions without FullDuplex", rmw.ErrInvalid, constructor)
}
