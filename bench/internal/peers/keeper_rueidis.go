package peers

import (
	"context"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

type heldRueidislock struct{ locks rueidislock.Locker }

func openHeldRueidislock(o Options, lease time.Duration, sent func(string)) (Keeper, error) {
	options := RueidislockOptions(o, false)
	options.KeyValidity = lease
	// The default of 20 ms per try can end before the reply, and the retry finds its own lock.
	options.TryNextAfter = time.Second
	options.ClientBuilder = func(option rueidis.ClientOption) (rueidis.Client, error) {
		c, err := rueidis.NewClient(option)
		return tappedRueidis{c, sent}, err
	}
	locks, err := rueidislock.NewLocker(options)
	if err != nil {
		return nil, err
	}
	return heldRueidislock{locks}, nil
}

// heldByCtx is the handle of a lock.
type heldByCtx struct {
	ctx     context.Context
	release context.CancelFunc
}

func (h heldRueidislock) Hold(ctx context.Context, name string) (any, error) {
	ctx, release, err := h.locks.WithContext(ctx, name)
	return heldByCtx{ctx, release}, err
}

// tappedRueidis reports the key of every script.
type tappedRueidis struct {
	rueidis.Client
	sent func(key string)
}

func (t tappedRueidis) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if args := cmd.Commands(); len(args) > 3 {
		t.sent(args[3])
	}
	return t.Client.Do(ctx, cmd)
}
