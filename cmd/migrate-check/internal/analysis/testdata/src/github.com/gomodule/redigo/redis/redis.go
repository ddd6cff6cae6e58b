// Package redis has what the tests need of redigo.
package redis

import (
	"context"
	"time"
)

type Conn interface {
	Do(commandName string, args ...any) (any, error)
	Send(commandName string, args ...any) error
	Flush() error
}

func DoContext(c Conn, ctx context.Context, cmd string, args ...any) (any, error) { return nil, nil }
func DoWithTimeout(c Conn, d time.Duration, cmd string, args ...any) (any, error) { return nil, nil }

type Script struct{}

func (*Script) Do(c Conn, keysAndArgs ...any) (any, error) { return nil, nil }

type Pool struct{}

func (*Pool) Get() Conn { return nil }
