// Package rueidis has what the tests need of rueidis.
package rueidis

import "github.com/redis/rueidis/internal/cmds"

type Client interface{ B() cmds.Builder }

type Lua struct{}

func (*Lua) Exec() {}
