// Package systems has files for one system each.
package systems

import "github.com/unwatch/unwatch/cmd/migrate-check/testdata/systems/go-redis/redis"

var client redis.Client
