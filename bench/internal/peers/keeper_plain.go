package peers

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// none takes locks without renewal. Their lease outlives the measurement.
type none struct{ rdb *redis.Client }

func openNone(o Options, _ time.Duration, sent func(string)) (Keeper, error) {
	return none{tapped(o, sent)}, nil
}

func (n none) Hold(ctx context.Context, name string) (any, error) {
	return nil, take(ctx, n.rdb, name, time.Hour)
}

const token = "the token of this process"

func take(ctx context.Context, rdb *redis.Client, name string, lease time.Duration) error {
	err := rdb.SetArgs(ctx, name, token, redis.SetArgs{Mode: "NX", TTL: lease}).Err()
	if errors.Is(err, redis.Nil) {
		return errors.New("the lock is taken")
	}
	return err
}

// ticker is a simple watchdog: one goroutine per lock renews it at half its lease.
type ticker struct {
	rdb   *redis.Client
	lease time.Duration
	renew *redis.Script
}

func openTicker(o Options, lease time.Duration, sent func(string)) (Keeper, error) {
	return &ticker{tapped(o, sent), lease, redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end
return 0`)}, nil
}

func (t *ticker) Hold(ctx context.Context, name string) (any, error) {
	if err := take(ctx, t.rdb, name, t.lease); err != nil {
		return nil, err
	}
	go func() {
		tick := time.NewTicker(t.lease / 2)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			n, err := t.renew.Run(ctx, t.rdb, []string{name}, token, t.lease.Milliseconds()).Int()
			if err == nil && n == 0 {
				return // lost
			}
		}
	}()
	return nil, nil
}
