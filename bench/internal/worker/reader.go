package worker

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/bench/internal/peers"
)

// readEvery is the mean time between two reads of a reader: its load must not change the figures.
const readEvery = time.Millisecond

// reader counts plain reads of a key, and those that a seal refuses.
type reader struct {
	rdb           *redis.Client
	key           string
	reads, sealed int64
}

// read begins to read the first key of the job. The function that it returns ends that, and stores the counts in the result.
func (r *race) read(ctx context.Context) (end func(res *UpdateResult)) {
	key, _, _ := strings.Cut(r.job.Keys[0][0], " ")
	reads := &reader{rdb: peers.Client(peers.Options{Addr: r.job.Addr, Proxy: r.job.Via}), key: key}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		reads.run(ctx)
	}()
	return func(res *UpdateResult) {
		cancel()
		<-ended
		_ = reads.rdb.Close()
		res.Plain, res.Sealed = reads.reads, reads.sealed
	}
}

func (r *reader) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.rdb.Get(ctx, r.key).Err()
		switch {
		case redis.HasErrorPrefix(err, "WRONGTYPE"):
			r.sealed++
		case err != nil: // absent, or the end
			continue
		}
		r.reads++
		time.Sleep(time.Duration(rand.Int64N(int64(2 * readEvery)))) //nolint:gosec // jitter
	}
}
