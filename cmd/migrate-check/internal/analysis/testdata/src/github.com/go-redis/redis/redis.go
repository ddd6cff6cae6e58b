// Package redis has what the tests need of go-redis v6.
package redis

type Cmder interface{ Name() string }

type Cmd struct{}

func NewCmd(args ...any) *Cmd { return nil }

type Pipeliner interface{ Exec() ([]Cmder, error) }

type Client struct{}

func (*Client) Watch(fn func(*Tx) error, keys ...string) error { return nil }
func (*Client) Do(args ...any) *Cmd                            { return nil }

type Tx struct{}

func (*Tx) Pipeline() Pipeliner                                 { return nil }
func (*Tx) Pipelined(fn func(Pipeliner) error) ([]Cmder, error) { return nil, nil }
