package unguarded

import (
	"context"
	_ "embed" // the scripts
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed string.lua
var stringSource string

//go:embed hash.lua
var hashSource string

// script takes the arguments of one of lockupdate's scripts, and compares nothing.
type script struct{ replaces, source, sha string }

func newScript(replaces, source string) script {
	return script{replaces, source, redis.NewScript(source).Hash()}
}

var (
	stringScript = newScript("commit_string", stringSource)
	hashScript   = newScript("commit_hash", hashSource)
)

// Replaces returns the name of the script of lockupdate that a command of the Hook
// replaces, or "" for any other command.
func Replaces(args []string) string {
	for _, s := range []script{stringScript, hashScript} {
		if len(args) > 1 && (args[1] == s.sha || args[1] == s.source) {
			return s.replaces
		}
	}
	return ""
}

// Hook replaces the commit scripts that a Store sends through a client by scripts that write without
// comparing. It panics at an unknown script with as many arguments as a commit: then lockupdate's scripts
// have changed.
type Hook struct{}

// DialHook implements redis.Hook.
func (Hook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (Hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		replace(cmd.Args())
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (Hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			replace(cmd.Args())
		}
		return next(ctx, cmds)
	}
}

// The arguments before those of the script: the command, the script, the number of keys and the key. The
// next two constants count the arguments of a commit to a string, and the minimum for a hash.
const (
	header     = 4
	stringArgs = 4
	hashArgs   = 7
)

// replace changes the second argument of a commit in place: lockupdate sets it again at each send.
func replace(args []any) {
	verb := strings.ToLower(fmt.Sprint(args[0]))
	if verb != "eval" && verb != "evalsha" || len(args) < header+stringArgs {
		return
	}
	var s script
	switch {
	case slices.Contains([]string{"take", "open"}, fmt.Sprint(args[1])): // of an update of several keys
		return
	case isString(args[header:]):
		s = stringScript
	case isHash(args[header:]):
		s = hashScript
	case len(args) == header+stringArgs && isNumber(args[header+1]): // the acquire
		return
	default:
		panic(fmt.Sprintf("unguarded: a script with %d arguments is no known commit; "+
			"make string.lua and hash.lua fit lockupdate's scripts again", len(args)-header))
	}
	if args[1] = s.sha; verb == "eval" {
		args[1] = s.source
	}
}

func isString(args []any) bool {
	return len(args) == stringArgs && slices.Contains([]any{"absent", "value", "sha1"}, args[1])
}

// isHash checks that the numbers account for every argument.
func isHash(args []any) bool {
	if len(args) < hashArgs {
		return false
	}
	var numbers [hashArgs]int
	for i := 1; i < hashArgs; i++ {
		n, ok := args[i].(int)
		if !ok {
			return false
		}
		numbers[i] = n
	}
	missing, sent, sets, dels := numbers[3], numbers[4], numbers[5], numbers[6]
	return len(args) == hashArgs+2*sent+missing+2*max(sets, 0)+dels
}

func isNumber(arg any) bool {
	_, ok := arg.(int64)
	return ok
}
