package redisx

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/rmw"
)

// CheckClient returns why constructor cannot use a client of go-redis, or nil. as is its part there, such
// as " as node 1".
//
// A wrapper is recognized only if it embeds the client.
func CheckClient(constructor, as string, client any) error {
	switch {
	case isFullDuplex(client):
		return fmt.Errorf("%w: %s cannot use an AutoPipeliner with FullDuplex%s, because no hook can refuse its commands; "+
			"use the client itself, or AutoPipelineOptions without FullDuplex", rmw.ErrInvalid, constructor, as)
	case isRing(client):
		return fmt.Errorf("%w: %s cannot use a redis.Ring%s: while a server does not answer, a Ring sends its keys to another one, "+
			"and updates that were stored there are lost when the server is back; use a Redis Cluster, or a proxy without automatic ejection",
			rmw.ErrInvalid, constructor, as)
	}
	return nil
}

// isFullDuplex reports whether a client is an AutoPipeliner with FullDuplex. It queues a command before it
// calls hooks, so that a refusal ends the connection. Other callers' executed commands then fail with an
// error that means "not sent".
func isFullDuplex(client any) bool {
	auto, ok := client.(interface {
		Config() redis.AutoPipelineOptions
	})
	return ok && auto.Config().FullDuplex
}

// isRing reports whether a client is a redis.Ring. There is no AutoPipeliner of a Ring.
func isRing(client any) bool {
	_, ok := client.(interface{ Options() *redis.RingOptions })
	return ok
}
