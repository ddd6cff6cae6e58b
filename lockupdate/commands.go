package lockupdate

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Commands is what a Store needs of a client: a way to send one command, and a
// way to send several in one plain pipeline. *redis.Client, *redis.ClusterClient,
// *redis.Ring and redis.UniversalClient have it.
//
// All that is ever sent through it is EVALSHA and EVAL with exactly one key; see
// [Vocabulary].
type Commands interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Pipeline() redis.Pipeliner
}

// Vocabulary returns the name of every command a Store may send, and of every
// command its scripts call. A server or proxy has to allow the former; an ACL has
// to allow both.
func Vocabulary() (sent, called []string) {
	return []string{"EVAL", "EVALSHA"},
		[]string{"DEL", "GET", "HDEL", "HEXISTS", "HGETALL", "HMGET", "HSET", "PERSIST", "PEXPIRE", "PTTL", "SET", "TYPE"}
}
