package lockupdate

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
)

// errOddReply is an answer that none of the scripts gives. What ran is unknown.
var errOddReply = errors.New("the reply is not one that this script gives; is the name used by something else, or a proxy rewriting replies?")

// run sends the calls in one flush and waits for their answers, which are then in
// the calls. It returns an error only if ctx ended first; then the calls must not
// be touched.
func (s *Store) run(ctx context.Context, calls ...*call) error {
	return s.gate.Await(ctx, func() { s.send(ctx, calls) })
}

// runDetached is run for what must be sent and heard of even if ctx ends while it
// waits for a connection.
func (s *Store) runDetached(ctx context.Context, calls ...*call) error {
	return s.gate.Await(ctx, func() { s.send(context.WithoutCancel(ctx), calls) })
}

// send is one round trip, and a second one if a backend did not know a script:
// then everything from that call on is sent again, whole, so that the read of an
// acquire still comes after it. There is no SCRIPT LOAD behind a proxy, and in a
// pipeline go-redis' Script.Run has no such second try.
func (s *Store) send(ctx context.Context, calls []*call) {
	s.flush(ctx, calls, false)
	for i, c := range calls {
		if redisx.IsNoScript(c.cmd.Err()) {
			s.flush(ctx, calls[i:], true)
			return
		}
	}
}

func (s *Store) flush(ctx context.Context, calls []*call, whole bool) {
	if len(calls) == 1 {
		cmd := calls[0].arm(ctx, whole)
		if err := s.rdb.Process(ctx, cmd); err != nil && cmd.Err() == nil {
			cmd.SetErr(err)
		}
		return
	}
	pipe := s.rdb.Pipeline()
	cmds := make([]redis.Cmder, len(calls))
	for i, c := range calls {
		cmds[i] = c.arm(ctx, whole)
	}
	err := pipe.BatchProcess(ctx, cmds...)
	if err == nil {
		_, err = pipe.Exec(ctx)
	}
	// The pipeline reports its first error on the commands themselves, unless
	// nothing was sent at all.
	var reply redis.Error
	if err != nil && !errors.As(err, &reply) && cmds[0].Err() == nil {
		for _, cmd := range cmds {
			cmd.SetErr(err)
		}
	}
}
