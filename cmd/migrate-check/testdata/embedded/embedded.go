// Package embedded has a script in a file of its own, and keys from another package.
package embedded

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cmd/migrate-check/testdata/embedded/names"
)

//go:embed publish.lua
var source string

var publish = redis.NewScript(source)

// Close closes a room.
func Close(ctx context.Context, rdb *redis.Client, id string) error {
	return publish.Run(ctx, rdb, []string{names.Room(id), names.Seats(id)}, "closed").Err()
}
