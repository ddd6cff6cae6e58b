// Package rueidiscompat has some of the signatures of rueidis' adapter.
package rueidiscompat

import "context"

type Tx interface{}

type Pipeliner interface {
	Exec(ctx context.Context) ([]any, error)
}

type IntCmd struct{}

type Cmdable interface {
	Watch(ctx context.Context, fn func(Tx) error, keys ...string) error
	Pipeline() Pipeliner
	TxPipeline() Pipeliner
	Publish(ctx context.Context, channel string, message any) *IntCmd
}
