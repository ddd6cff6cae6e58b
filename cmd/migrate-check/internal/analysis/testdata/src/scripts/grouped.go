package scripts

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// A script has one finding for all its keys that are not in KEYS, with their lines.
var guessed = redis.NewScript("" + // want `^lines 1, 2, 3 of the script use keys that may not be in KEYS; line 1: GET: its key may be out of ARGV, .*\(MC503\)$`
	`redis.call("GET", ARGV[1])
	redis.call("SET", "b", "1") redis.call("DEL", "c")
	return redis.call("GET", ARGV[2])
`)

// pass hands a script on: that neither its text nor its keys are known is one finding.
func pass(ctx context.Context, rdb *redis.Client, script string, keys []string) {
	rdb.Eval(ctx, script, keys)              // want `^EVAL through .*Eval with a script that is not known here; how many keys it has is not known here.*MC501`
	rdb.Eval(ctx, script, []string{keys[0]}) // want `the text of the script, script, is not known`
	rdb.EvalSha(ctx, script, keys)           // want `nothing here sends EVAL.*MC505` `how many keys it has is not known here.*MC501`
	rdb.Eval(ctx, "-- by "+script, keys)     // want `the text of the script.*MC504` `how many keys it has is not known here.*MC501`
}
