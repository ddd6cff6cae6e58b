package proxycompat

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Report returns a go-redis hook that permits every command and calls f for each one that [Hook] would
// refuse. Use it in a service that still runs on its own Redis.
//
// f gets the caller's ctx and runs on the caller's goroutine, so that a stack trace shows the call site. It
// runs once for each such command of a pipeline. It must be quick, and safe for concurrent use.
// Subscriptions bypass the hooks of go-redis v9: the connection reports them, with the ctx of the dial.
//
// A permitted command costs no allocation. A nil profile counts as [Redis]; with a nil f the hook does
// nothing.
func Report(p *Profile, f func(ctx context.Context, refused *RefusedError)) redis.Hook {
	if p == nil || f == nil {
		p = Redis()
	}
	return reporter{p, f}
}

type reporter struct {
	p *Profile
	f func(context.Context, *RefusedError)
}

func (r reporter) look(ctx context.Context, cmd redis.Cmder) {
	if refused, ok := errors.AsType[*RefusedError](r.p.CheckCmd(cmd)); ok {
		r.f(ctx, refused)
	}
}

func (r reporter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		r.look(ctx, cmd)
		return next(ctx, cmd)
	}
}

func (r reporter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			r.look(ctx, cmd)
		}
		return next(ctx, cmds)
	}
}

func (r reporter) DialHook(next redis.DialHook) redis.DialHook {
	return filtered(r.p, next, r.f)
}

// unhooked reports whether go-redis sends a command without calling hooks.
func unhooked(refused *RefusedError) bool { return strings.HasSuffix(refused.Command, "SUBSCRIBE") }
