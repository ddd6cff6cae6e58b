package redisx

import "github.com/redis/go-redis/v9"

// Once is a command that go-redis sends at most once. By default go-redis runs a command
// up to four times when replies are slow.
type Once struct{ redis.Cmder }

// NoRetry implements redis.Cmder.
func (Once) NoRetry() bool { return true }
