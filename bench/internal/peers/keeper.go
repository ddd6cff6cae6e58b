package peers

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Keeper takes locks and holds them until the process ends.
type Keeper interface {
	// Hold takes a lock and returns its handle.
	Hold(ctx context.Context, name string) (any, error)
}

// keeperEntry is one keeper.
type keeperEntry struct {
	name   string
	prefix string // of its keys
	what   string
	watch  []string // parts of the names of functions that allocate for its watchdog
	open   func(o Options, lease time.Duration, sent func(key string)) (Keeper, error)
}

func keeperTable() []keeperEntry {
	return []keeperEntry{
		{"none", "", "locks without renewals: the cost of Redis and an idle client", nil, openNone},
		{"ticker", "", "a goroutine, a ticker and an EVALSHA for each lock, over go-redis", nil, openTicker},
		{"rueidislock", "rueidislock:0:", "rueidislock, KeyMajority 1", nil, openHeldRueidislock},
		{"unwatch", "/lock/", "lockupdate, Store.Lock", watchOfUnwatch(), openHeldUnwatch},
	}
}

// Keepers returns the names of all keepers.
func Keepers() []string {
	var names []string
	for _, e := range keeperTable() {
		names = append(names, e.name)
	}
	return names
}

// KeeperWhat returns a description of a keeper in one line.
func KeeperWhat(name string) string { return keeperNamed(name).what }

// KeeperWatch returns parts of the names of functions that allocate for the keeper's watchdog. It
// is empty if the watchdog has no functions of its own.
func KeeperWatch(name string) []string { return keeperNamed(name).watch }

// KeeperPrefix returns the prefix of the keeper's keys.
func KeeperPrefix(name string) string { return keeperNamed(name).prefix }

func keeperNamed(name string) keeperEntry {
	for _, e := range keeperTable() {
		if e.name == name {
			return e
		}
	}
	return keeperEntry{}
}

// OpenKeeper connects a keeper. It calls sent with the key of a lock before each command for it.
func OpenKeeper(name string, o Options, lease time.Duration, sent func(key string)) (Keeper, error) {
	open := keeperNamed(name).open
	if open == nil {
		return nil, fmt.Errorf("no keeper %q; there are %q", name, Keepers())
	}
	return open(o, lease, sent)
}

// tapped returns a Client with sent as a hook.
func tapped(o Options, sent func(key string)) *redis.Client {
	rdb := Client(o)
	rdb.AddHook(tapHook{sent})
	return rdb
}

// tapHook reports the key of every script, and of every SET.
type tapHook struct{ sent func(key string) }

func (h tapHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h tapHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.look(cmd)
		return next(ctx, cmd)
	}
}

func (h tapHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			h.look(cmd)
		}
		return next(ctx, cmds)
	}
}

func (h tapHook) look(cmd redis.Cmder) {
	args, at := cmd.Args(), 3
	if cmd.Name() == "set" {
		at = 1
	}
	if len(args) > at {
		if key, ok := args[at].(string); ok {
			h.sent(key)
		}
	}
}
