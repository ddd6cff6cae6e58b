package lockupdate_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"

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
