package redisx

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"sync"
	"weak"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/resp"
)

// GuardHandshakes has a client give up a new connection whose HELLO is answered by "max number of clients reached" or
// by a refusal of protected mode: the server closes that connection. go-redis takes any error reply to HELLO for
// that of an old server, and sends the command nevertheless, which then looks as if its reply was lost. It adds a hook to a
// *redis.Client, or to each new node of a *redis.ClusterClient, once for all Stores. Other clients stay as they are.
func GuardHandshakes(client any) {
	switch c := client.(type) {
	case *redis.Client:
		once(c, func() { c.AddHook(handshake{}) })
	case *redis.ClusterClient:
		once(c, func() { c.OnNewNode(func(node *redis.Client) { node.AddHook(handshake{}) }) })
	}
}

// guarded has a weak pointer to each client that has the hook.
var guarded sync.Map //nolint:gochecknoglobals // stores share a client, and its hook has no other owner

func once[T any](client *T, do func()) {
	p := weak.Make(client)
	if _, done := guarded.LoadOrStore(p, nil); done {
		return
	}
	runtime.AddCleanup(client, func(p weak.Pointer[T]) { guarded.Delete(p) }, p)
	do()
}

type handshake struct{}

func (handshake) DialHook(redis.DialHook) redis.DialHook                                  { return nil }
func (handshake) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook { return nil }
func (handshake) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err == nil || cmd.Name() != "hello" {
			return err
		}
		if m := MeaningOf(err); m == resp.Full || m == resp.Denied {
			err = turnedAway{fmt.Errorf("%w: %s", ErrNotSent, err.Error()), m}
			cmd.SetErr(err)
		}
		return err
	}
}

// turnedAway is the refusal of a connection. It is no redis.Error, so that go-redis closes the connection.
type turnedAway struct {
	error
	means resp.Meaning
}

func (t turnedAway) Is(target error) bool { return target == ErrNotSent }

// Timeout and Temporary implement net.Error: a full server is like one that refuses connections.
func (t turnedAway) Timeout() bool   { return false }
func (t turnedAway) Temporary() bool { return t.means == resp.Full }

var _ net.Error = turnedAway{}
