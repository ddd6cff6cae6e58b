// Package goredis is legacy code over go-redis v9.
package goredis

import (
	"context"
	"names"

	"github.com/redis/go-redis/v9"
)

type embedded struct{ *redis.Client }

type own interface {
	Watch(ctx context.Context, fn func(*redis.Tx) error, keys ...string) error
	TxPipeline() redis.Pipeliner
}

func typed(ctx context.Context, rdb *redis.Client, cluster *redis.ClusterClient, any redis.UniversalClient, e embedded, o own) {
	fn := func(tx *redis.Tx) error {
		tx.Get(ctx, "k")
		tx.Unwatch(ctx) // want `UNWATCH through .*Tx\)\.Unwatch; the proxy refuses it \(MC103\)`
		tx.Watch(ctx)   // want `WATCH through .*Tx\)\.Watch.*MC101`
		tx.Pipeline()
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { // want `MULTI and EXEC through .*Tx\)\.TxPipelined.*MC102`
			p.Set(ctx, "k", 1, 0)
			return nil
		})
		return err
	}
	rdb.Watch(ctx, fn, "k")     // want `^WATCH through \(\*redis\.Client\)\.Watch; the proxy refuses it; .* \(MC101\)$`
	cluster.Watch(ctx, fn, "k") // want `MC101`
	any.Watch(ctx, fn, "k")     // want `MC101`
	e.Watch(ctx, fn, "k")       // want `MC101`
	o.Watch(ctx, fn, "k")       // want `MC101`
	(rdb.Watch)(ctx, fn)        // want `MC101`
	o.TxPipeline()              // want `MC102`
	watch := rdb.Watch          // want `WATCH .*; it is taken as a value here, and called elsewhere \(MC101\)`
	watch(ctx, fn)

	p := rdb.Pipeline()
	p.TxPipeline() // it continues p
	p.Exec(ctx)
	p.Discard()
	p = rdb.TxPipeline() // want `MC102`
	p.Exec(ctx)
}

func byName(ctx context.Context, rdb *redis.Client, any redis.UniversalClient, hash bool, given string) {
	rdb.Do(ctx, "WATCH", "k")   // want `WATCH through .*Do; the proxy refuses it \(MC103\)`
	any.Do(ctx, "mul"+"ti")     // want `MULTI.*MC103`
	rdb.Do(ctx, names.Watch)    // want `WATCH.*MC103`
	rdb.Do(ctx, "GET", "WATCH") // a key
	command := "HGETALL"
	if !hash {
		command = "exec"
	}
	rdb.Do(ctx, command, "k") // want `EXEC.*MC103`
	rdb.Do(ctx, given, "k")
	rdb.Process(ctx, redis.NewCmd(ctx, "DISCARD"))       // want `DISCARD through .*NewCmd.*MC103`
	rdb.Process(ctx, redis.NewStatusCmd(ctx, "unwatch")) // want `UNWATCH.*MC103`
}

// do sends the words that it is given.
func do(ctx context.Context, rdb *redis.Client, words ...any) error {
	rdb.Do(ctx, words...)
	return nil
}

func spread(ctx context.Context, rdb *redis.Client, keys []any) {
	rdb.Do(ctx, []any{"WATCH", "k"}...)             // want `WATCH.*MC103`
	rdb.Do(ctx, append([]any{"WATCH"}, keys...)...) // want `WATCH.*MC103`
	rdb.Do(ctx, append([]any{"GET"}, "WATCH")...)
	words := make([]any, 0, len(keys)+1)
	words = append(words, "watch")
	words = append(words, keys...)
	rdb.Do(ctx, words...) // want `WATCH.*MC103`
	filled := make([]any, len(keys)+1)
	filled[0] = "WATCH"
	copy(filled[1:], keys)
	rdb.Do(ctx, filled...) // want `WATCH.*MC103`
	rdb.Do(ctx, keys...)
	do(ctx, rdb, "WATCH", "k")      // want `WATCH through goredis\.do.*MC103`
	do(ctx, rdb, []any{"MULTI"}...) // want `MULTI through goredis\.do.*MC103`
	do(ctx, rdb, "GET", "WATCH")
	do(ctx, rdb)
}
