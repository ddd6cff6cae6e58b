package sealed_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

// The keys of the tests, and what other code may hold.
var (
	str  = rmw.Key{Name: "s"}
	hash = rmw.Key{Name: "h", Kind: rmw.KindHash}
	none = rmw.Key{Name: "n"}
)

// fill stores the values before.
func (r *rig) fill() {
	require.NoError(r.t, r.plain.Set(background, str.Name, "old", time.Hour).Err())
	require.NoError(r.t, r.plain.HSet(background, hash.Name, "f", "1", "g", "22").Err())
	require.NoError(r.t, r.plain.RPush(background, "list", "a", "b").Err())
}

// commands are all commands that have an answer, on a string s, a hash h, and a key n that is absent.
var commands = [][]string{
	{"get", "s"}, {"get", "n"}, {"get", "h"}, {"strlen", "s"}, {"strlen", "n"},
	{"hget", "h", "f"}, {"hget", "h", "x"}, {"hget", "n", "f"}, {"hget", "s", "f"}, {"hmget", "h", "g", "x", "f"}, {"hmget", "n", "f"},
	{"hgetall", "h"}, {"hgetall", "n"}, {"hexists", "h", "f"}, {"hexists", "h", "x"}, {"hlen", "h"}, {"hlen", "n"},
	{"hkeys", "h"}, {"hvals", "h"}, {"hkeys", "n"}, {"hstrlen", "h", "g"},
	{"exists", "s"}, {"exists", "n"}, {"exists", "h"}, {"exists", "s", "n", "h", "s"}, {"ttl", "s"}, {"pttl", "s"}, {"ttl", "h"},
	{"ttl", "n"}, {"mget", "s", "h", "n", "s"}, {"type", "list"}, {"exists", "list"}, {"ttl", "list"}, {"get", "list"}, {"mget", "list"},
}

// add adds a command as the method of the client does.
func add(pipe redis.Cmdable, words []string) redis.Cmder {
	ctx := background
	switch key := words[1]; words[0] {
	case "get":
		return pipe.Get(ctx, key)
	case "strlen":
		return pipe.StrLen(ctx, key)
	case "hget":
		return pipe.HGet(ctx, key, words[2])
	case "hmget":
		return pipe.HMGet(ctx, key, words[2:]...)
	case "hgetall":
		return pipe.HGetAll(ctx, key)
	case "hexists":
		return pipe.HExists(ctx, key, words[2])
	case "hlen":
		return pipe.HLen(ctx, key)
	case "hkeys":
		return pipe.HKeys(ctx, key)
	case "hvals":
		return pipe.HVals(ctx, key)
	case "hstrlen":
		return pipe.HStrLen(ctx, key, words[2])
	case "exists":
		return pipe.Exists(ctx, words[1:]...)
	case "ttl":
		return pipe.TTL(ctx, key)
	case "pttl":
		return pipe.PTTL(ctx, key)
	case "mget":
		return pipe.MGet(ctx, words[1:]...)
	}
	return pipe.Type(ctx, words[1])
}

// shape is the reply of a command, without the order of fields.
func shape(cmd redis.Cmder) any {
	switch cmd := cmd.(type) {
	case *redis.StringSliceCmd:
		slices.Sort(cmd.Val())
		return cmd.Val()
	case *redis.StringCmd:
		return cmd.Val()
	case *redis.IntCmd:
		return cmd.Val()
	case *redis.BoolCmd:
		return cmd.Val()
	case *redis.DurationCmd:
		return cmd.Val()
	case *redis.SliceCmd:
		return cmd.Val()
	case *redis.MapStringStringCmd:
		return cmd.Val()
	case *redis.StatusCmd:
		return cmd.Val()
	}
	return nil
}

// replies returns the replies to all commands, one by one or in one pipeline.
func replies(t *testing.T, rdb *redis.Client, pipelined bool) (all []any) {
	var cmds []redis.Cmder
	if pipelined {
		pipe := rdb.Pipeline()
		for _, words := range commands {
			cmds = append(cmds, add(pipe, words))
		}
		_, err := pipe.Exec(background)
		assert.True(t, redisx.IsWrongType(err) || err == redis.Nil, "%v", err) //nolint:errorlint // the first error
	} else {
		for _, words := range commands {
			cmds = append(cmds, add(rdb, words))
		}
	}
	for i, cmd := range cmds {
		text := ""
		if err := cmd.Err(); err != nil {
			text = err.Error()
		}
		all = append(all, []any{commands[i], shape(cmd), text})
	}
	return all
}

// Each command says of sealed keys what it says of open ones with the value that the keys have.
func TestSealedKeysAnswerAsOpenOnes(t *testing.T) {
	both := []*proxycompat.Profile{proxycompat.Redis(), proxycompat.Codis32()}
	keys := []rmw.Key{str, hash, none}
	next := []seal.Next{
		{Key: str.Name, Value: rmw.String("newer"), TTL: time.Minute},
		{Key: hash.Name, Value: rmw.Hash(map[string]string{"f": "3", "z": "4"}), TTL: rmw.NoTTL},
		{Key: none.Name, Value: rmw.String("made")},
	}
	for _, next := range [][]seal.Next{nil, next, {{Key: "s"}, {Key: "h"}, {Key: "n", Kept: true}}} {
		for _, record := range []string{"", seal.Aborted, seal.Committed(next)} {
			for _, profile := range both {
				with(t, profile, func(r *rig) {
					r.fill()
					want := replies(t, r.plain, false)
					if record != "" && record != seal.Aborted {
						for _, n := range next {
							r.seal(rmw.Key{Name: n.Key, Kind: kindOf(n.Key)})
							r.open(n)
						}
						want = replies(t, r.plain, false)
						assert.Equal(t, want, replies(t, r.rdb, false), "open")
						require.NoError(t, r.plain.Del(background, "s", "h", "n", "list").Err())
						r.fill()
					}
					if record == "" {
						assert.Equal(t, want, replies(t, r.rdb, false), "open")
						assert.Equal(t, want, replies(t, r.rdb, true), "open, in a pipeline")
					}
					for _, key := range keys {
						r.seal(key)
						if record != "" {
							r.decide(key.Name, record)
						}
					}
					assert.NotEqual(t, want, replies(t, r.plain, false), "without the hook")
					assert.Equal(t, want, replies(t, r.rdb, false))
					assert.Equal(t, want, replies(t, r.rdb, true), "in a pipeline")
				})
			}
		}
	}
}

func kindOf(name string) rmw.Kind {
	if name == hash.Name {
		return rmw.KindHash
	}
	return rmw.KindString
}

// While nothing is sealed, only some commands have more round trips. A sealed key costs up to three.
func TestRoundTrips(t *testing.T) {
	extra := map[string]int64{"ttl h": 1, "ttl list": 2, "exists list": 1, "get list": 1, "mget s h n s": 1, "mget list": 2,
		"get h": 1, "hget s f": 1}
	with(t, proxycompat.Codis32(), func(r *rig) {
		r.fill()
		for _, words := range commands {
			name := strings.Join(words, " ")
			if name == "mget s h n s" {
				continue // counted below: h is another type
			}
			assert.Equal(t, 1+extra[name], r.trips(func() { add(r.rdb, words) }), name)
		}
		assert.EqualValues(t, 2, r.trips(func() { r.rdb.MGet(background, "s", "n", "n2") }), "a missing key")
		pipeline := func() {
			_, _ = r.rdb.Pipelined(background, func(pipe redis.Pipeliner) error {
				pipe.Get(background, "s")
				pipe.HGetAll(background, "h")
				pipe.Exists(background, "s", "n")
				pipe.TTL(background, "s")
				pipe.MGet(background, "s", "s")
				return nil
			})
		}
		assert.EqualValues(t, 1, r.trips(pipeline), "a pipeline")

		r.seal(str)
		r.seal(hash)
		get := func() { assert.Equal(t, "old", r.rdb.Get(background, "s").Val()) }
		assert.EqualValues(t, 4, r.trips(get), "no decision")
		assert.EqualValues(t, 5, r.trips(pipeline), "all sealed keys of a pipeline together")
		r.decide("s", seal.Committed([]seal.Next{{Key: "s", Value: rmw.String("new")}}))
		assert.EqualValues(t, 3, r.trips(func() { assert.Equal(t, "new", r.rdb.Get(background, "s").Val()) }), "decided")
	})
}

// A key that is opened between the reply and the look is read again.
func TestKeyIsOpenedMeanwhile(t *testing.T) {
	with(t, proxycompat.Redis(), func(r *rig) {
		for _, words := range [][]string{{"get", "s"}, {"exists", "n"}, {"pttl", "s"}, {"mget", "s", "n"}} {
			require.NoError(t, r.plain.Del(background, "n").Err())
			r.fill()
			r.seal(str)
			r.seal(none)
			r.rdb.AddHook(before("eval", func() {
				r.open(seal.Next{Key: "s", Value: rmw.String("new"), TTL: time.Minute})
				r.open(seal.Next{Key: "n"})
			}))
			got := add(r.rdb, words)
			require.NoError(t, got.Err())
			assert.Equal(t, shape(add(r.plain, words)), shape(got), words)
		}
	})
}

// An expiry that passes while the key is sealed deletes the value, also a new one that keeps the expiry.
func TestExpiryPassesMeanwhile(t *testing.T) {
	for _, record := range []string{"", seal.Committed([]seal.Next{{Key: "s", Value: rmw.String("new")}})} {
		with(t, proxycompat.Redis(), func(r *rig) {
			r.fill()
			r.seal(str)
			if record != "" {
				r.decide("s", record)
			}
			sleep(20 * time.Minute)
			assert.Equal(t, 40*time.Minute, r.rdb.TTL(background, "s").Val())
			sleep(40 * time.Minute)
			assert.ErrorIs(t, r.rdb.Get(background, "s").Err(), redis.Nil)
			assert.EqualValues(t, -2, r.rdb.TTL(background, "s").Val())
			assert.EqualValues(t, 0, r.rdb.Exists(background, "s").Val())
		})
	}
}

// before returns a hook that calls do once, before a command with that name or a pipeline with one.
type beforeHook struct {
	name string
	do   func()
	done *bool
}

func before(name string, do func()) redis.Hook { return beforeHook{name, do, new(bool)} }

func (h beforeHook) note(cmds ...redis.Cmder) {
	if !*h.done && slices.ContainsFunc(cmds, func(c redis.Cmder) bool { return c.Name() == h.name }) {
		*h.done = true
		h.do()
	}
}

func (h beforeHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h beforeHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.note(cmd)
		return next(ctx, cmd)
	}
}

func (h beforeHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		h.note(cmds...)
		return next(ctx, cmds)
	}
}
