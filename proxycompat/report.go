package proxycompat

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Report returns a go-redis hook that lets everything pass, and first tells f what the
// profile's proxy would not permit: for a service that still runs on its own Redis, to
// learn in staging what [Hook] would refuse.
//
// f gets the caller's ctx and is called on the caller's goroutine, so that a stack trace
// names the culprit, once for each such command of a pipeline. It must be quick, and safe
// for concurrent use. Subscriptions bypass the hooks of go-redis v9: they are seen at the
// connection, where ctx is that of the dial.
//
// A command that is permitted costs no allocation. A nil profile is that of a plain
// Redis; a nil f gives a hook that does nothing.
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
	if r.p.permitsAll() {
		return next
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		g := &guardConn{Conn: conn, p: r.p, report: func(refused *RefusedError) { r.f(context.WithoutCancel(ctx), refused) }}
		return keepSyscall(g, conn), nil
	}
}

// unhooked reports whether go-redis sends a command without asking its hooks.
func unhooked(refused *RefusedError) bool { return strings.HasSuffix(refused.Command, "SUBSCRIBE") }
