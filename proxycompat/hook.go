package proxycompat

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"
)

// Hook returns a go-redis hook that refuses, before anything is sent, what the
// profile's proxy does not permit; see [Profile.Check] for what that is. The
// error is a [*RefusedError].
//
//   - A single command is refused alone.
//   - One refused command refuses its whole pipeline, and every command of the
//     pipeline gets that error: a pipeline whose rest is executed is worse
//     than none.
//   - TxPipelined is refused for the MULTI that go-redis puts in front, and
//     Watch for its WATCH.
//   - Subscribe bypasses the hooks of go-redis v9. What such code writes is
//     caught at the connection: nothing leaves, and Receive returns the error.
//     (Channel swallows errors and keeps trying, as it does for all of them.)
//     The same net catches anything else that goes around hooks.
//   - It does not work with AutoPipelineOptions.FullDuplex of go-redis v9.23, which
//     queues a command before it calls hooks. A refused command is then caught at the
//     connection only, which ends: commands of other callers on that connection fail
//     with the same [*RefusedError], although they may have been executed. Use the
//     half-duplex AutoPipeline, or the client itself. [Explain] reports it.
//   - The handshake of go-redis still works, without [HelloDialer] even: its
//     HELLO and CLIENT SETINFO are refused in a way that go-redis takes for a
//     server without them.
//
// Call AddHook right after NewClient and keep MinIdleConns at 0: connections
// that exist before are not watched. Hooks added later see only what this one
// lets through.
//
// A command that passes costs no allocation. Bytes are held back until their
// command is complete, so a value of many megabytes is buffered once more.
//
// A nil profile is that of a plain Redis, as for [Options].
func Hook(p *Profile) redis.Hook {
	if p == nil {
		p = Redis()
	}
	return hook{p}
}

type hook struct{ p *Profile }

func (h hook) DialHook(next redis.DialHook) redis.DialHook {
	if h.p.permitsAll() {
		return next
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return keepSyscall(&guardConn{Conn: conn, p: h.p}, conn), nil
	}
}

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

// asAnswer makes the refusal of a handshake command look like a server's
// answer. go-redis gives up a connection whose HELLO or CLIENT SETINFO fails in
// any other way.
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
