// Package redis has what the tests need of go-redis v9.
package redis

import "context"

type Cmder interface{ Name() string }

type baseCmd struct{}

func (baseCmd) Name() string { return "" }

type (
	Cmd       struct{ baseCmd }
	StatusCmd struct{ baseCmd }
	StringCmd struct{ baseCmd }
	IntCmd    struct{ baseCmd }
)

func NewCmd(ctx context.Context, args ...any) *Cmd             { return nil }
func NewStatusCmd(ctx context.Context, args ...any) *StatusCmd { return nil }

type cmdable func(ctx context.Context, cmd Cmder) error

func (cmdable) Get(ctx context.Context, key string) *StringCmd                            { return nil }
func (cmdable) Set(ctx context.Context, key string, value any, expiration int) *StatusCmd { return nil }
func (cmdable) Publish(ctx context.Context, channel string, message any) *IntCmd          { return nil }
func (cmdable) Do(ctx context.Context, args ...any) *Cmd                                  { return nil }

type Pipeliner interface {
	Get(ctx context.Context, key string) *StringCmd
	Set(ctx context.Context, key string, value any, expiration int) *StatusCmd
	Exec(ctx context.Context) ([]Cmder, error)
	Discard()
	Pipelined(ctx context.Context, fn func(Pipeliner) error) ([]Cmder, error)
	TxPipelined(ctx context.Context, fn func(Pipeliner) error) ([]Cmder, error)
	TxPipeline() Pipeliner
}

type PubSub struct{}

type Client struct{ cmdable }

type Options struct{}

func NewClient(*Options) *Client { return nil }

func (*Client) Watch(ctx context.Context, fn func(*Tx) error, keys ...string) error { return nil }
func (*Client) Process(ctx context.Context, cmd Cmder) error                        { return nil }
func (*Client) Pipeline() Pipeliner                                                 { return nil }
func (*Client) TxPipeline() Pipeliner                                               { return nil }
func (*Client) Pipelined(ctx context.Context, fn func(Pipeliner) error) ([]Cmder, error) {
	return nil, nil
}
func (*Client) TxPipelined(ctx context.Context, fn func(Pipeliner) error) ([]Cmder, error) {
	return nil, nil
}
func (*Client) Subscribe(ctx context.Context, channels ...string) *PubSub { return nil }

type ClusterClient struct{ cmdable }

func (*ClusterClient) Watch(ctx context.Context, fn func(*Tx) error, keys ...string) error {
	return nil
}

type UniversalClient interface {
	Watch(ctx context.Context, fn func(*Tx) error, keys ...string) error
	TxPipeline() Pipeliner
	Do(ctx context.Context, args ...any) *Cmd
}

type Tx struct{ cmdable }

func (*Tx) Watch(ctx context.Context, keys ...string) *StatusCmd   { return nil }
func (*Tx) Unwatch(ctx context.Context, keys ...string) *StatusCmd { return nil }
func (*Tx) Pipeline() Pipeliner                                    { return nil }
func (*Tx) TxPipelined(ctx context.Context, fn func(Pipeliner) error) ([]Cmder, error) {
	return nil, nil
}
