package contract_test

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/lockupdate/redlock"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

// closer is a path with a call that waits for its client.
type closer struct {
	open func(rdb *redis.Client) io.Closer
	call func(ctx context.Context, c io.Closer) error
}

func closers() map[string]closer {
	update := func(ctx context.Context, c io.Closer) error {
		_, err := c.(rmw.Store).Update(ctx, rmw.Key{Name: "k"}, add)
		return err
	}
	read := func(ctx context.Context, c io.Closer) error {
		_, err := c.(rmw.Store).Read(ctx, rmw.Key{Name: "k"})
		return err
	}
	locked := func(ctx context.Context, c io.Closer) error {
		return c.(lock.Locker).WithLock(ctx, "k", func(context.Context) error { return nil })
	}
	withCAS := func(rdb *redis.Client) io.Closer { return cas.New(rdb, cas.Config{}) }
	withLock := func(rdb *redis.Client) io.Closer { return lockupdate.New(rdb, lockupdate.Config{}) }
	onDemand := func(rdb *redis.Client) io.Closer {
		return lockupdate.New(rdb, lockupdate.Config{LockOnDemand: true})
	}
	moving := func(rdb *redis.Client) io.Closer {
		side := cutover.Side{Store: cas.New(rdb, cas.Config{}), Redis: rdb}
		return cutover.New(side, side, cutover.Config{})
	}
	quorum := func(rdb *redis.Client) io.Closer { return redlock.New([]redlock.Node{rdb}, redlock.Config{}) }
	return map[string]closer{
		"cas update": {withCAS, update}, "cas read": {withCAS, read},
		"lockupdate update": {withLock, update}, "lockupdate read": {withLock, read}, "lockupdate lock": {withLock, locked},
		"on demand update": {onDemand, update},
		"cutover update":   {moving, update}, "cutover read": {moving, read},
		"redlock": {quorum, locked},
	}
}

// The client never returns from a dial, whatever the ctx. Close ends within 10 s all the same, and says what it leaves
// behind; nothing is left when the dial ends.
func TestCloseEndsThoughTheClientHangs(t *testing.T) {
	for name, c := range closers() {
		for how, withDeadline := range map[string]bool{"ctx ends": true, "ctx does not end": false} {
			t.Run(name+", "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					hung := make(chan struct{})
					opts := proxycompat.Options(proxycompat.Redis(), "192.0.2.1:1")
					opts.DialerRetries, opts.MaxRetries = 1, -1
					opts.Dialer = func(context.Context, string, string) (net.Conn, error) {
						<-hung
						return nil, net.ErrClosed
					}
					rdb := redis.NewClient(opts)
					s := c.open(rdb)
					ctx, cancel := context.WithTimeout(context.Background(), time.Second)
					defer cancel()
					if !withDeadline {
						ctx = context.Background()
					}
					ended := make(chan error, 1)
					go func() { ended <- c.call(ctx, s) }()
					synctest.Wait()
					began := time.Now()
					err := s.Close()
					assert.LessOrEqual(t, time.Since(began), 11*time.Second)
					if withDeadline {
						require.Error(t, <-ended)
					}
					if err != nil {
						require.ErrorContains(t, err, "Close waited 10s for the client, which has not returned (calls: ")
					}
					close(hung)
					time.Sleep(time.Minute) // go-redis, too, ends its work
					require.NoError(t, rdb.Close())
				})
			})
		}
	}
}
