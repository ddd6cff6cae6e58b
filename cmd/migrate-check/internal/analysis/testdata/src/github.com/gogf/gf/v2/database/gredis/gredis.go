// Package gredis has some of GoFrame's signatures.
package gredis

import "context"

type Redis struct{ AdapterOperation }

type AdapterOperation interface {
	Do(ctx context.Context, command string, args ...any) (any, error)
	Conn(ctx context.Context) (Conn, error)
}

type Conn interface {
	Do(ctx context.Context, command string, args ...any) (any, error)
	Subscribe(ctx context.Context, channel string, channels ...string) ([]any, error)
	Close(ctx context.Context) error
}

type IGroupPubSub interface {
	Publish(ctx context.Context, channel string, message any) (int64, error)
}

func (r *Redis) GroupPubSub() IGroupPubSub { return nil }
