// Package redis has what the tests need of go-redis v9.
package redis

import (
	"context"
	"time"
)

type RedisError string

func (e RedisError) Error() string { return string(e) }

const (
	Nil         = RedisError("redis: nil")
	TxFailedErr = RedisError("redis: transaction failed")
	KeepTTL     = -1
)

type Cmder interface{ Name() string }

type baseCmd struct{}

func (baseCmd) Name() string { return "" }
func (baseCmd) Err() error   { return nil }

type (
	Cmd       struct{ baseCmd }
	StatusCmd struct{ baseCmd }
	StringCmd struct{ baseCmd }
	IntCmd    struct{ baseCmd }
	BoolCmd   struct{ baseCmd }
	SliceCmd  struct{ baseCmd }

	MapStringStringCmd struct{ baseCmd }
)

func (*StringCmd) Result() (string, error)                     { return "", nil }
func (*StringCmd) Val() string                                 { return "" }
func (*StringCmd) Bytes() ([]byte, error)                      { return nil, nil }
func (*StringCmd) Int() (int, error)                           { return 0, nil }
func (*StringCmd) Int64() (int64, error)                       { return 0, nil }
func (*StringCmd) Uint64() (uint64, error)                     { return 0, nil }
func (*StringCmd) Float64() (float64, error)                   { return 0, nil }
func (*StringCmd) Bool() (bool, error)                         { return false, nil }
func (*StringCmd) Time() (time.Time, error)                    { return time.Time{}, nil }
func (*StringCmd) Scan(any) error                              { return nil }
func (*IntCmd) Result() (int64, error)                         { return 0, nil }
func (*IntCmd) Val() int64                                     { return 0 }
func (*SliceCmd) Result() ([]any, error)                       { return nil, nil }
func (*MapStringStringCmd) Result() (map[string]string, error) { return nil, nil }
func (*MapStringStringCmd) Val() map[string]string             { return nil }

func NewCmd(ctx context.Context, args ...any) *Cmd             { return nil }
func NewStatusCmd(ctx context.Context, args ...any) *StatusCmd { return nil }

type Cmdable interface {
	Get(ctx context.Context, key string) *StringCmd
	MGet(ctx context.Context, keys ...string) *SliceCmd
	Exists(ctx context.Context, keys ...string) *IntCmd
	Set(ctx context.Context, key string, value any, expiration time.Duration) *StatusCmd
	SetNX(ctx context.Context, key string, value any, expiration time.Duration) *BoolCmd
	Del(ctx context.Context, keys ...string) *IntCmd
	Incr(ctx context.Context, key string) *IntCmd
	Expire(ctx context.Context, key string, expiration time.Duration) *BoolCmd
	HGet(ctx context.Context, key, field string) *StringCmd
	HGetAll(ctx context.Context, key string) *MapStringStringCmd
	HSet(ctx context.Context, key string, values ...any) *IntCmd
	HDel(ctx context.Context, key string, fields ...string) *IntCmd
	ZCard(ctx context.Context, key string) *IntCmd
	ZAdd(ctx context.Context, key string, members ...Z) *IntCmd
	ZRem(ctx context.Context, key string, members ...any) *IntCmd
	BLPop(ctx context.Context, timeout time.Duration, keys ...string) *SliceCmd
	Publish(ctx context.Context, channel string, message any) *IntCmd
	Pipelined(ctx context.Context, fn func(Pipeliner) error) ([]Cmder, error)
	Pipeline() Pipeliner
	TxPipelined(ctx context.Context, fn func(Pipeliner) error) ([]Cmder, error)
	TxPipeline() Pipeliner
}

type Pipeliner interface {
	Cmdable
	Do(ctx context.Context, args ...any) *Cmd
	Exec(ctx context.Context) ([]Cmder, error)
	Discard()
}

type PubSub struct{}

type Client struct {
	cmdable
}

type cmdable struct{ Cmdable }

func (cmdable) Do(ctx context.Context, args ...any) *Cmd { return nil }

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
	Cmdable
	TxPipelined(ctx context.Context, fn func(Pipeliner) error) ([]Cmder, error)
	TxPipeline() Pipeliner
	Watch(ctx context.Context, fn func(*Tx) error, keys ...string) error
	Do(ctx context.Context, args ...any) *Cmd
}

type Tx struct{ cmdable }

func (*Tx) Watch(ctx context.Context, keys ...string) *StatusCmd   { return nil }
func (*Tx) Unwatch(ctx context.Context, keys ...string) *StatusCmd { return nil }
func (*Tx) Pipeline() Pipeliner                                    { return nil }
func (*Tx) TxPipeline() Pipeliner                                  { return nil }
func (*Tx) TxPipelined(ctx context.Context, fn func(Pipeliner) error) ([]Cmder, error) {
	return nil, nil
}

// SetVal answers.
func (*StatusCmd) SetVal(val string) {}

// SetErr answers.
func (*Cmd) SetErr(err error) {}

func NewStringResult(val string, err error) *StringCmd                              { return nil }
func NewMapStringStringResult(val map[string]string, err error) *MapStringStringCmd { return nil }
