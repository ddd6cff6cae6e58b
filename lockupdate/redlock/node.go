package redlock

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
)

// Node is one independent master: a way to send it one command. *redis.Client has
// it. All that is ever sent are SET, GET, EVALSHA and EVAL with exactly one key.
//
// It must lead to one server only and always to the same, and to no replica. Give
// it a ReadTimeout, or ContextTimeoutEnabled: a command that hangs keeps its
// connection that long, though no goroutine waits for it any more.
type Node interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

//go:embed lua/renew.lua
var renewSource string

//go:embed lua/release.lua
var releaseSource string

// script is a Lua script on one key.
type script struct{ source, sha string }

func newScript(source string) script {
	return script{source: source, sha: redis.NewScript(source).Hash()}
}

var (
	renewScript   = newScript(renewSource)
	releaseScript = newScript(releaseSource)
)

// run executes the script on the node, and sends it whole if the node does not
// know it. ours is the answer: whether the lock was the owner's.
func (s script) run(ctx context.Context, n Node, key string, args ...any) (ours bool, err error) {
	send := func(name, what string) *redisx.Command {
		return process(ctx, n, append([]any{name, what, 1, key}, args...)...)
	}
	cmd := send("evalsha", s.sha)
	if redisx.IsNoScript(cmd.Err()) {
		cmd = send("eval", s.source)
	}
	one, err := cmd.Int64()
	return one == 1, err
}

// take asks the node for the lock and reports whether it is granted. doubt means
// that the answer to a SET is lost: it may have taken the lock, and may yet.
//
// A connection that broke says nothing about the lock, so it is asked for once
// more: if that is refused because the first one was executed, the lock names its
// owner.
func take(ctx context.Context, n Node, key, owner string, lease time.Duration) (granted, doubt bool, err error) {
	for try := 1; ; try++ {
		err = process(ctx, n, "set", key, owner, "px", lease.Milliseconds(), "nx").Err()
		switch {
		case err == nil:
			return true, doubt, nil
		case errors.Is(err, redis.Nil) && !doubt:
			return false, false, nil
		case errors.Is(err, redis.Nil):
			holder, err := get(ctx, n, key) // or it has ended in between
			return err == nil && holder == owner, true, err
		case redisx.OutcomeOf(err) == redisx.Unknown:
			doubt = true
			if try == 1 && ctx.Err() == nil {
				continue
			}
		}
		return false, doubt, err
	}
}

// get asks the node for the owner of the lock, "" if it is free.
func get(ctx context.Context, n Node, key string) (owner string, err error) {
	owner, err = process(ctx, n, "get", key).Text()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return owner, err
}

// process sends one command, on a goroutine of the Locker: a hook of the client
// that panics must not end the process.
func process(ctx context.Context, n Node, args ...any) (cmd *redisx.Command) {
	cmd = &redisx.Command{Cmd: redis.NewCmd(ctx, args...)}
	defer func() {
		if p := recover(); p != nil {
			cmd = &redisx.Command{Cmd: redis.NewCmd(ctx, args...)}
			cmd.SetErr(fmt.Errorf("the client, or a hook of it, panicked: %v", p))
		}
	}()
	if err := n.Process(ctx, cmd); err != nil && cmd.Err() == nil {
		cmd.SetErr(err)
	}
	redisx.DropIfElsewhere(ctx, n, fmt.Sprint(args[1]), false, cmd.Err())
	return cmd
}
