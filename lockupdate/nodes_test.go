package lockupdate_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// twoNodes is a client of two servers, like a ClusterClient or a Ring. The server of the locks is
// up, the server of the data is down.
type twoNodes struct{ *redis.Client }

var errNodeDown = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}

func (c twoNodes) Pipeline() redis.Pipeliner {
	return &twoNodesPipe{Pipeliner: c.Client.Pipeline(), rdb: c.Client}
}

type twoNodesPipe struct {
	redis.Pipeliner
	rdb  *redis.Client
	cmds []redis.Cmder
}

func (p *twoNodesPipe) BatchProcess(_ context.Context, cmds ...redis.Cmder) error {
	p.cmds = append(p.cmds, cmds...)
	return nil
}

func (p *twoNodesPipe) Exec(ctx context.Context) (cmds []redis.Cmder, err error) {
	for _, cmd := range p.cmds {
		if e := (twoNodes{p.rdb}).Process(ctx, cmd); e != nil {
			err = e
		}
	}
	return p.cmds, err
}

func (c twoNodes) Process(ctx context.Context, cmd redis.Cmder) error {
	if strings.HasPrefix(cmd.Args()[3].(string), lock) {
		return c.Client.Process(ctx, cmd)
	}
	cmd.SetErr(errNodeDown)
	return errNodeDown
}

// The error of one node does not count for the other node. The lock was granted, and must be
// released.
func TestOneNodeDown(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		f.warm(rmw.Key{Name: "s"})
		store := lockupdate.New(twoNodes{f.rdb}, lockupdate.Config{})
		_, err := store.Update(t.Context(), rmw.Key{Name: "s"}, appendText("x"))
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		require.NoError(t, store.Close())
		assert.Zero(t, f.direct().Exists(t.Context(), lock+"s").Val(), "the lock is left behind")
	})
}

// silentNode is a client of several servers. It loses the replies of commits without an error, and
// returns redis.Nil for the flush.
type silentNode struct{ *redis.Client }

func (c silentNode) Pipeline() redis.Pipeliner {
	return &silentNodePipe{twoNodesPipe{Pipeliner: c.Client.Pipeline(), rdb: c.Client}}
}

type silentNodePipe struct{ twoNodesPipe }

func (p *silentNodePipe) Exec(ctx context.Context) ([]redis.Cmder, error) {
	for _, cmd := range p.cmds {
		if lockupdate.RequestName(argsOf(cmd)) == "commit_string" {
			_ = p.rdb.Process(ctx, redis.NewCmd(ctx, cmd.Args()...))
		} else {
			_ = p.rdb.Process(ctx, cmd)
		}
	}
	return p.cmds, redis.Nil
}

// A redis.Nil for another command of the flush says nothing about the commit: its outcome is
// unknown, and it is not refused.
func TestNilReplyOfAnotherCommand(t *testing.T) {
	withFixture(t, lockupdate.Config{Commit: lockupdate.CommitIFEQ}, func(t *testing.T, f *fixture) {
		store := lockupdate.New(silentNode{f.rdb}, lockupdate.Config{Commit: lockupdate.CommitIFEQ, NoCombining: true})
		key := rmw.Key{Name: "s"}
		var calls []*pendingCall
		for range 3 {
			calls = append(calls, start(t.Context(), store, key, after(12*time.Millisecond, appendText("x,"))))
		}
		unknown := 0
		for _, call := range calls {
			<-call.done
			assert.LessOrEqual(t, call.res.Attempts, 2)
			if errors.Is(call.err, rmw.ErrOutcomeUnknown) {
				unknown++
			}
		}
		assert.Positive(t, unknown, "the case did not occur")
		assert.Len(t, f.text(key), 2*len(calls))
		require.NoError(t, store.Close())
	})
}
