package sealed

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// fits reports whether a command can have a reply.
func fits(cmd redis.Cmder, reply any) bool {
	return into(cmd, reply) != nil
}

// fill gives a command a reply: nil, a string, a number, a list, names, or fields. A command of another type keeps its reply.
func fill(cmd redis.Cmder, reply any) {
	if set := into(cmd, reply); set != nil {
		cmd.SetErr(nil)
		set()
	}
}

// into returns what gives a command a reply, or nil.
func into(cmd redis.Cmder, reply any) func() {
	none := func() { cmd.SetErr(redis.Nil) }
	switch cmd := cmd.(type) {
	case *redis.StringCmd:
		switch reply := reply.(type) {
		case nil:
			return none
		case string:
			return func() { cmd.SetVal(reply) }
		}
	case *redis.IntCmd:
		if n, ok := reply.(int64); ok {
			return func() { cmd.SetVal(n) }
		}
	case *redis.BoolCmd:
		if n, ok := reply.(int64); ok {
			return func() { cmd.SetVal(n == 1) }
		}
	case *redis.DurationCmd:
		if n, ok := reply.(int64); ok {
			return func() { cmd.SetVal(duration(cmd.Name(), n)) }
		}
	case *redis.SliceCmd:
		if list, ok := reply.([]any); ok {
			return func() { cmd.SetVal(list) }
		}
	case *redis.StringSliceCmd:
		if list, ok := reply.([]string); ok {
			return func() { cmd.SetVal(list) }
		}
	case *redis.MapStringStringCmd:
		if fields, ok := reply.(map[string]string); ok {
			return func() { cmd.SetVal(fields) }
		}
	case *redis.Cmd:
		switch reply := reply.(type) {
		case nil:
			return none
		case string, int64, []any:
			return func() { cmd.SetVal(reply) }
		}
	}
	return nil
}

// duration is the reply of TTL or PTTL as go-redis gives it.
func duration(name string, n int64) time.Duration {
	switch {
	case n < 0:
		return time.Duration(n)
	case name == "ttl":
		return time.Duration(n) * time.Second
	}
	return time.Duration(n) * time.Millisecond
}

// valuesOf returns the reply of an MGET.
func valuesOf(cmd redis.Cmder) (list []any) {
	switch cmd := cmd.(type) {
	case *redis.SliceCmd:
		list = cmd.Val()
	case *redis.Cmd:
		list, _ = cmd.Val().([]any)
	}
	return list
}

// isPersistent reports whether the reply of a TTL or PTTL is -1.
func isPersistent(cmd redis.Cmder) bool {
	switch cmd := cmd.(type) {
	case *redis.DurationCmd:
		return cmd.Val() == -1
	case *redis.IntCmd:
		return cmd.Val() == -1
	case *redis.Cmd:
		return cmd.Val() == int64(-1)
	}
	return false
}
