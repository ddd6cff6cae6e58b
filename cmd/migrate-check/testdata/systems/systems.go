// Package systems has files for one system each.
package systems

import "github.com/unwatch/unwatch/cmd/migrate-check/testdata/systems/go-redis/redis"

// Client is what they watch with.
var Client redis.Client
