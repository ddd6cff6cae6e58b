// Package rueidis has what the tests need of rueidis.
package rueidis

import (
	"context"

	"github.com/redis/rueidis/internal/cmds"
)

type Client interface{ B() cmds.Builder }

type Lua struct{}

func (*Lua) Exec(ctx context.Context, c Client, keys, args []string) (resp RedisResult) {
	return RedisResult{}
}
