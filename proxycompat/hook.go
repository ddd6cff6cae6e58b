package proxycompat

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// Hook returns a go-redis hook that refuses commands which the profile's proxy does not permit, by
// [Profile.Check], before they are sent. The error is a [*RefusedError].
//
//   - A single command is refused alone.
//   - One refused command refuses its whole pipeline, and every command of the
//     pipeline gets that error: a partly executed pipeline is worse than none.
//   - TxPipelined is refused because go-redis adds MULTI to it, and Watch because of its WATCH.
//   - Subscribe bypasses the hooks of go-redis v9. The connection refuses such
//     commands: it sends nothing, and Receive returns the error. (Channel
//     swallows errors and retries, as it does for all errors.)
//     The connection refuses every other command that bypasses hooks, too.
//   - The hook does not work with AutoPipelineOptions.FullDuplex of go-redis v9.23, which
//     queues a command before it calls hooks. Only the connection then refuses the
//     command, and ends: commands of other callers on that connection fail
//     with the same [*RefusedError], although they may have been executed. Use the
//     half-duplex AutoPipeline, or the client itself. [Explain] reports it, and the
//     Stores of this module refuse such a client.
//   - The handshake of go-redis works even without [HelloDialer]: its HELLO and
//     CLIENT SETINFO get an error reply, as from an old server.
//
// Call AddHook right after NewClient and keep MinIdleConns at 0: the hook does not see existing
// connections. Hooks added later see only permitted commands.
//
// A permitted command costs no allocation. The connection holds bytes back until their command is complete,
// so a value of many megabytes is buffered once more.
//
// A nil profile counts as [Redis].
func Hook(p *Profile) redis.Hook {
	if p == nil {
		p = Redis()
	}
	return hook{p}
}

type hook struct{ p *Profile }

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return filtered(h.p, next, nil) }

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := h.p.CheckCmd(cmd); err != nil {
			err = asAnswer(cmd, err)
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			err := h.p.CheckCmd(cmd)
			if err == nil {
				continue
			}
			err = asAnswer(cmd, err)
			for _, c := range cmds {
				c.SetErr(err)
			}
			return err
		}
		return next(ctx, cmds)
	}
}

// asAnswer turns the refusal of a handshake command into an error reply of a server. go-redis closes a
// connection on which HELLO or CLIENT SETINFO fails with any other error.
func asAnswer(cmd redis.Cmder, err error) error {
	refused, ok := errors.AsType[*RefusedError](err)
	if !ok {
		return err
	}
	switch cmd.Name() {
	case "hello", "client":
		return answeredRefusal{refused}
	}
	return err
}

// answeredRefusal is a RefusedError that is also a redis.Error.
type answeredRefusal struct{ refused *RefusedError }

func (e answeredRefusal) Error() string { return e.refused.Error() }
func (e answeredRefusal) Unwrap() error { return e.refused }
func (e answeredRefusal) RedisError()   {}
