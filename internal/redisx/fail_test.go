package redisx_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// A server quotes the arguments of an unknown command: they may be private.
func TestFailHidesArguments(t *testing.T) {
	reply := redisError("ERR unknown command 'hmset', with args beginning with: 'k' 'password' 'SECRET' ")
	for _, err := range []error{reply, redisx.Because(rmw.ErrOutcomeUnknown, reply)} {
		failed := redisx.Fail("cas", "exec", rmw.Key{Name: "k"}, 1, err)
		for _, verb := range []string{"%v", "%+v", "%#v", "%q", "%x"} {
			assert.NotContains(t, fmt.Sprintf(verb, failed), "SECRET", verb)
			assert.NotContains(t, fmt.Sprintf(verb, redisx.WithoutArguments(err)), "SECRET", verb)
		}
		assert.ErrorContains(t, failed, "unknown command 'hmset'")
		var known redis.Error
		require.ErrorAs(t, failed, &known)
	}
}

type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}

// A client out of step with the server quotes a part of a value as a reply.
func TestFailHidesReplies(t *testing.T) {
	_, number := strconv.ParseInt("SECRET", 10, 64)
	for want, err := range map[string]error{
		"strconv.ParseInt: parsing (not shown)": number,
		"redis: can't parse (not shown)":        fmt.Errorf("redis: can't parse int reply: %.100q", "SECRET"),
		"redis: invalid reply (not shown)":      fmt.Errorf("redis: invalid reply: %q", "SECRET"),
		"bigInt (not shown)":                    fmt.Errorf("bigInt(%s) value out of range", "SECRET"),
	} {
		failed := redisx.Fail("cas", "peek", rmw.Key{Name: "k"}, 0, err)
		assert.EqualError(t, failed, `cas: peek "k": store unavailable: `+want)
		for _, verb := range []string{"%v", "%+v", "%#v", "%q"} {
			assert.NotContains(t, fmt.Sprintf(verb, failed), "SECRET", verb)
		}
	}
}

// The text of a server may have escape sequences, direction marks and commands to a CI runner.
func TestFailShowsNoControlCharacters(t *testing.T) {
	const hostile = "ERR \x1b[31m \x07 \u009b2J \u202e \u2028 \xff ##[error]x"
	for _, err := range []error{
		redisError(hostile),
		redisx.Because(rmw.ErrOutcomeUnknown, redisError(hostile)),
		redisx.Because(fmt.Errorf("%w: %s", rmw.ErrUnsupported, hostile), nil),
		fmt.Errorf("%w: the value cannot be read: %s", rmw.ErrUnsupported, hostile),
		fmt.Errorf("%w: the key holds a %s", rmw.ErrWrongKind, hostile),
	} {
		failed := redisx.Fail("cas", "exec", rmw.Key{Name: "k"}, 1, err)
		text := failed.Error()
		for _, raw := range []string{"\x1b", "\x07", "\u009b", "\u202e", "\u2028", "\xff", "##["} {
			assert.NotContains(t, text, raw)
		}
		assert.Contains(t, text, "[31m")
	}
	require.ErrorIs(t, redisx.Fail("cas", "exec", rmw.Key{}, 1, fmt.Errorf("%w: \x1b", rmw.ErrWrongKind)), rmw.ErrWrongKind)
}

func TestLeft(t *testing.T) {
	for pttl, want := range map[int64]time.Duration{
		-2: 0, -1: rmw.NoTTL, 0: time.Millisecond, 1: time.Millisecond, 1500: 1500 * time.Millisecond,
	} {
		left, gone := redisx.Left(pttl)
		assert.Equal(t, want, left, pttl)
		assert.Equal(t, pttl == -2, gone, pttl)
	}
	left, gone := redisx.Left(math.MaxInt64)
	assert.Greater(t, left, 290*365*24*time.Hour, "not one that has passed")
	assert.False(t, gone)
}
