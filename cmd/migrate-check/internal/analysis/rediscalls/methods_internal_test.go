package rediscalls

import (
	"context"
	"net"
	"reflect"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/proxycompat"
)

// overhearing is a hook that records commands instead of sending them.
type overhearing struct{ heard *[]any }

func (overhearing) DialHook(redis.DialHook) redis.DialHook {
	return func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }
}

func (o overhearing) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		*o.heard = cmd.Args()
		return nil
	}
}

func (overhearing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// The test calls each method of go-redis and compares the command that it sends.
func TestCommandOfTheMethodsOfGoRedis(t *testing.T) {
	var heard []any
	rdb := redis.NewClient(&redis.Options{})
	defer rdb.Close()
	rdb.AddHook(overhearing{&heard})
	client := reflect.ValueOf(rdb)
	tried := 0
	for i := range client.NumMethod() {
		name := client.Type().Method(i).Name
		heard = nil
		if !called(client.Method(i)) || len(heard) == 0 {
			continue
		}
		words := make([]string, len(heard))
		for i, word := range heard {
			words[i], _ = word.(string)
		}
		sent, known := proxycompat.CommandOf(words...)
		want := strings.ToUpper(words[0])
		if known {
			want = sent.Name
		}
		got, _ := commandOf(name)
		assert.Equal(t, want, got, name)
		tried++
	}
	t.Logf("%d methods", tried)
	assert.Greater(t, tried, 400)
}

// called calls a method with zero arguments, and reports whether that worked.
func called(method reflect.Value) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	of := method.Type()
	if of.NumIn() == 0 || of.In(0) != reflect.TypeFor[context.Context]() {
		return false
	}
	args := []reflect.Value{reflect.ValueOf(context.Background())}
	for i := 1; i < of.NumIn(); i++ {
		in := of.In(i)
		switch {
		case of.IsVariadic() && i == of.NumIn()-1:
			continue
		case in.Kind() == reflect.Pointer:
			args = append(args, reflect.New(in.Elem()))
		case in.Kind() == reflect.Func:
			return false
		case in.Kind() == reflect.Slice:
			args = append(args, reflect.MakeSlice(in, 2, 2))
		default:
			args = append(args, reflect.Zero(in))
		}
	}
	method.Call(args)
	return true
}
