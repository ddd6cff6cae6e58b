package tagged

import (
	"testing"

	"github.com/unwatch/unwatch/cmd/migrate-check/testdata/systems/go-redis/redis"
)

func TestPublish(*testing.T) {
	new(redis.Client).Publish("channel", "message")
}
