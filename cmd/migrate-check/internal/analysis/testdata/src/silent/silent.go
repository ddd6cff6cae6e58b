// Package silent watches, but not Redis.
package silent

import "context"

type Watcher struct{}

func (*Watcher) Watch(ctx context.Context, fn func(*Tx) error, keys ...string) error { return nil }
func (*Watcher) TxPipeline() any                                                     { return nil }
func (*Watcher) Do(name string, args ...any) (any, error)                            { return nil, nil }

type Tx struct{}

func all(ctx context.Context, w *Watcher) {
	w.Watch(ctx, nil, "k")
	w.TxPipeline()
	w.Do("WATCH", "k")
}
