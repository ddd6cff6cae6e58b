package torture

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// replicasLimit limits a WAIT of the fleet. It is below the client's read timeout.
const replicasLimit = patience / 2

// single is a client with one connection that counts its connections.
//
// WAIT covers the writes of its own connection. On another connection it returns at once, with any number
// of replicas, and proves nothing; the same holds if the client resends it on a new connection, to a
// primary that never received the write.
type single struct {
	redis.UniversalClient
	made *atomic.Int64 // connections so far
}

func singleClient(s *Environment, process int) single {
	made := &atomic.Int64{}
	opts := s.failoverOptions(process)
	limitToOne(&opts.PoolSize, &opts.MaxActiveConns, &opts.PipelinePoolSize)
	opts.OnConnect = counting(made)
	return single{redis.NewFailoverClient(opts), made}
}

// limitToOne disables the separate pool for pipelines, over which lockupdate renews leases.
func limitToOne(pool, active, pipelines *int) { *pool, *active, *pipelines = 1, 1, -1 }

func counting(made *atomic.Int64) func(context.Context, *redis.Conn) error {
	return func(context.Context, *redis.Conn) error {
		made.Add(1)
		return nil
	}
}

// waiting acknowledges an update once a number of replicas has it.
type waiting struct {
	*lockupdate.Store
	rdb      single
	replicas int           // 0: no WAIT
	limit    time.Duration // of each WAIT
}

func newWaiting(rdb single, replicas int, limit time.Duration) *waiting {
	store := lockupdate.New(rdb.UniversalClient, lockupdate.Config{Lease: holdLease, MaxAttempts: 1000})
	return &waiting{store, rdb, replicas, limit}
}

// Update runs lockupdate's Update, then WAIT. If only WAIT fails, the update is written, but may not
// survive a failover.
func (s *waiting) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	var made atomic.Int64 // read before the commit, after the value was read
	result, err := s.Store.Update(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		made.Store(s.rdb.made.Load())
		return fn(ctx, cur)
	})
	if err != nil || s.replicas == 0 {
		return result, err
	}
	n, err := s.rdb.Do(ctx, "WAIT", s.replicas, s.limit.Milliseconds()).Int64()
	switch {
	case err == nil && n < int64(s.replicas):
		err = fmt.Errorf("%d replicas acknowledged the write within %v, need %d", n, s.limit, s.replicas)
	case err == nil && s.rdb.made.Load() != made.Load():
		err = net.ErrClosed // that connection has ended, so this WAIT covers another one
	}
	if err != nil {
		err = &rmw.Error{Path: "waiting", Op: "wait", Key: key.Name, Reason: rmw.ErrOutcomeUnknown, Cause: err}
	}
	return result, err
}
