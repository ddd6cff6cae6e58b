// Package rmw has what the tests need of the contract.
package rmw

import (
	"context"
	"errors"
	"time"
)

const NoTTL time.Duration = -1

var ErrContended = errors.New("contended")

type Kind uint8

const (
	KindString Kind = iota
	KindHash
)

type Key struct {
	Name string
	Kind Kind
	TTL  time.Duration
}

type Value struct{ _ int }

func String(string) Value                             { return Value{} }
func Bytes([]byte) Value                              { return Value{} }
func (Value) Exists() bool                            { return false }
func (Value) Text() string                            { return "" }
func (Value) Field(string) (string, bool)             { return "", false }
func (Value) All() func(yield func(a, b string) bool) { return nil }
func (v Value) With(name, value string) Value         { return v }
func (v Value) Without(names ...string) Value         { return v }
func (v Value) WithTTL(time.Duration) Value           { return v }

type Result struct{}

type UpdateFunc func(ctx context.Context, cur Value) (Value, error)

type Store interface {
	Update(ctx context.Context, key Key, fn UpdateFunc) (Result, error)
}
