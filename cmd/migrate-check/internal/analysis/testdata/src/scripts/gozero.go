package scripts

import (
	"context"

	"github.com/zeromicro/go-zero/core/stores/redis"
)

func goZero(ctx context.Context, r *redis.Redis, keys []string) {
	script := redis.NewScript(`return redis.call("GET", KEYS[1])`)
	r.ScriptRun(script, []string{"k"})
	r.ScriptRunCtx(ctx, script, []string{"k"})
	r.ScriptRunCtx(ctx, script, keys)               // want `EVAL through .*ScriptRunCtx.*MC501`
	r.ScriptRun(script, []string{keys[0], keys[1]}) // want `EVAL through .*ScriptRun.*MC501`
	r.ScriptRunCtx(ctx, script, []string{}, "key")  // want `without keys.*MC502`
}
