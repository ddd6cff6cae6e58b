package redisx_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// A server that does not know a command quotes its arguments: they may be private.
func TestFailHidesArguments(t *testing.T) {
	reply := redisError("ERR unknown command 'hmset', with args beginning with: 'k' 'password' 'SECRET' ")
	for _, err := range []error{reply, redisx.Because(rmw.ErrOutcomeUnknown, reply)} {
		failed := redisx.Fail("cas", "exec", rmw.Key{Name: "k"}, 1, err)
		assert.NotContains(t, failed.Error(), "SECRET")
		assert.ErrorContains(t, failed, "unknown command 'hmset'")
		var known redis.Error
		require.ErrorAs(t, failed, &known)
	}
}

type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}
