package tagged

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestPublish(t *testing.T) {
	redis.NewClient(nil).Publish(t.Context(), "channel", "message")
}
