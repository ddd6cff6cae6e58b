package lockupdate_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// twoNodes is a client over two servers, as a ClusterClient or a Ring is. The one
// with the locks works, the one with the data is down.
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

// The error of one node must not be taken for the other's: the lock was granted,
// and has to be released.
func TestOneNodeDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		f.warm(rmw.Key{Name: "s"})
		store := lockupdate.New(twoNodes{f.rdb}, lockupdate.Config{})
		_, err := store.Update(t.Context(), rmw.Key{Name: "s"}, appendText("x"))
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		require.NoError(t, store.Close())
		assert.Zero(t, f.direct().Exists(t.Context(), lock+"s").Val(), "the lock is left behind")
	})
}

// silentNode is a client over several servers that does not mark a commit whose answer
// it lost, and reports for all of them that one answered nil.
type silentNode struct{ *redis.Client }

func (c silentNode) Pipeline() redis.Pipeliner {
	return &silentNodePipe{twoNodesPipe{Pipeliner: c.Client.Pipeline(), rdb: c.Client}}
}

type silentNodePipe struct{ twoNodesPipe }

func (p *silentNodePipe) Exec(ctx context.Context) ([]redis.Cmder, error) {
	for _, cmd := range p.cmds {
		if lockupdate.Said(argsOf(cmd)) == "commit_string" {
			_ = p.rdb.Process(ctx, redis.NewCmd(ctx, cmd.Args()...))
		} else {
			_ = p.rdb.Process(ctx, cmd)
		}
	}
	return p.cmds, redis.Nil
}

// That one command was answered nil says nothing about another: a commit without an
// answer is in doubt, and not refused.
func TestNilOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Commit: lockupdate.CommitIFEQ})
		store := lockupdate.New(silentNode{f.rdb}, lockupdate.Config{Commit: lockupdate.CommitIFEQ, NoCombining: true})
		key := rmw.Key{Name: "s"}
		var fates []*fate
		for range 3 {
			fates = append(fates, start(t.Context(), store, key, after(12*time.Millisecond, appendText("x,"))))
		}
		unknown := 0
		for _, fate := range fates {
			<-fate.done
			assert.LessOrEqual(t, fate.res.Attempts, 2)
			if errors.Is(fate.err, rmw.ErrOutcomeUnknown) {
				unknown++
			}
		}
		assert.Positive(t, unknown, "the case did not occur")
		assert.Len(t, f.text(key), 2*len(fates))
		require.NoError(t, store.Close())
	})
}
