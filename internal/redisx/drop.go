package redisx

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// LeadsElsewhere reports whether err is the reply of a server that cannot serve: a demoted primary, one that loads
// its data, or a replica without its primary. Its connection must not be used again: a new one may lead to
// the present primary.
func LeadsElsewhere(err error) bool { return MeaningOf(err).LeadsElsewhere() }

// errDropped ends a connection.
var errDropped = errors.New("connection closed on purpose: its server has answered that it cannot serve")

// poison is a key that go-redis cannot write. It then closes the connection, and sends nothing.
type poison struct{ key string }

func (poison) MarshalBinary() ([]byte, error) { return nil, errDropped }
func (p poison) String() string               { return p.key } // a cluster client chooses the server by the key
func (p poison) Peek() string                 { return p.key }

// Drop closes the connection that a client uses next for key: of those for pipelines, or of those for single
// commands. go-redis uses the connection next that it used last, so that is the one of a reply that was just
// received, unless other goroutines use the client as well. Then the drop costs a new connection, and the next
// reply of the server drops another one. An AutoPipeliner is left alone: other commands share the flush.
func Drop(ctx context.Context, client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}, key string, pipelines bool,
) {
	if _, auto := client.(interface {
		Config() redis.AutoPipelineOptions
	}); auto {
		return
	}
	cmd := &Command{Cmd: redis.NewCmd(ctx, "get", poison{key})}
	if c, ok := client.(interface{ Pipeline() redis.Pipeliner }); ok && pipelines {
		pipe := c.Pipeline()
		_ = pipe.Process(ctx, cmd) // queues it
		_, _ = pipe.Exec(ctx)      // it fails
		return
	}
	_ = client.Process(ctx, cmd) // it fails
}

// DropIfElsewhere is Drop if a server that cannot serve has answered err.
func DropIfElsewhere(ctx context.Context, client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}, key string, pipelines bool, err error,
) {
	if LeadsElsewhere(err) {
		Drop(ctx, client, key, pipelines)
	}
}

// DropAfterExec is DropIfElsewhere for the error of MULTI and EXEC. Unless that says that the transaction has ended, the
// connection is dropped as well: the server would only queue the next command.
func DropAfterExec(ctx context.Context, client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}, key string, pipelines bool, err error,
) {
	var reply redis.Error
	if errors.As(err, &reply) && !errors.Is(err, redis.TxFailedErr) && !redis.HasErrorPrefix(err, "EXECABORT") || LeadsElsewhere(err) {
		Drop(ctx, client, key, pipelines)
	}
}
