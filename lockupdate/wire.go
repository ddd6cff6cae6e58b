package lockupdate

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
)

// run sends the calls in one flush, once the store can be reached, and waits for
// their answers, which are then in the calls. It returns an error only if ctx or the
// Store ended first; then the calls must not be touched.
func (s *Store) run(ctx context.Context, o *outage, calls ...*call) error {
	var abandoned error
	err := s.outlast(ctx, o, func() error {
		if abandoned = s.gate.Await(ctx, func() { s.flights.send(ctx, calls...) }); abandoned != nil {
			return nil
		}
		return calls[0].cmd.Err()
	})
	return errors.Join(abandoned, err)
}

// send is one round trip, and a second one for the scripts that a backend did not
// know, sent whole; and for the reads behind them, so that the read of an acquire
// still comes after it. There is no SCRIPT LOAD behind a proxy, and in a pipeline
// go-redis' Script.Run has no such second try.
func (s *Store) send(ctx context.Context, calls []*call) {
	s.flush(ctx, calls, false)
	var again []*call
	for _, c := range calls {
		if redisx.IsNoScript(c.cmd.Err()) || len(again) > 0 && c.looks {
			again = append(again, c)
		}
	}
	if len(again) > 0 {
		s.flush(ctx, again, true)
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
	if err == nil {
		return
	}
	for _, c := range calls {
		switch failed, v := c.cmd.Err() != nil, c.cmd.Val(); {
		case failed && complete(v):
			// It was answered: the connection broke after that, and go-redis has
			// marked them all.
			c.cmd.SetErr(nil)
		case !failed && v == nil && errors.Is(err, redis.Nil):
			c.cmd.SetErr(c.odd()) // redis.Nil is another command's answer
		case !failed && v == nil:
			// A client over several servers may report an error that is not on the
			// commands it befell.
			c.cmd.SetErr(err)
		}
	}
}

// complete reports whether a command that failed had its whole answer before. Of one that was cut
// in the middle, go-redis keeps the zero of its type: that may be a whole answer as well, and
// does not count as one.
func complete(v any) bool {
	switch v := v.(type) {
	case string:
		return v != ""
	case int64:
		return v != 0
	case []any:
		return v != nil
	case map[any]any:
		return v != nil
	}
	return false
}

// sendUnattended is send where no caller waits: a hook of the client that panics
// must not end the process.
func (s *Store) sendUnattended(ctx context.Context, calls []*call) {
	defer func() {
		if p := recover(); p != nil {
			for _, c := range calls {
				if c.cmd == nil {
					c.arm(ctx, false)
				}
				c.cmd.SetErr(fmt.Errorf("the client, or a hook of it, panicked: %v", p))
			}
		}
	}()
	s.send(ctx, calls)
}
