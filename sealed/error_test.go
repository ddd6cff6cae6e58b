package sealed_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/sealed"
)

// A key without an answer has an error that says why, and GET has its WRONGTYPE besides.
func TestUnanswered(t *testing.T) {
	for name, tc := range map[string]struct {
		list []any
		is   error
		text string
	}{
		"a cut-over has moved it": {[]any{seal.Magic, "away", "x", "y", "string", "-1", "0"}, rmw.ErrWrongKind, "moved to another store"},
		"a newer build":           {[]any{seal.Magic, "tx9", "x", "y", "string", "-1", "0", "v"}, rmw.ErrUnsupported, "newer build"},
		"damaged":                 {[]any{seal.Magic}, rmw.ErrWrongKind, "damaged"},
		"damaged value":           {[]any{seal.Magic, "tx", "x", "~tx:{s}", "hash", "-1", "0", "f"}, rmw.ErrWrongKind, "damaged"},
		"damaged expiry":          {[]any{seal.Magic, "tx", "x", "s", "string", "a", "b", "c"}, rmw.ErrWrongKind, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			with(t, proxycompat.Redis(), func(r *rig) {
				require.NoError(t, r.plain.RPush(background, "s", tc.list...).Err())
				for _, words := range [][]string{{"get", "s"}, {"hgetall", "s"}, {"exists", "s"}, {"ttl", "s"}, {"mget", "s"}} {
					one := add(r.rdb, words).Err()
					pipe := r.rdb.Pipeline()
					cmd := add(pipe, words)
					_, err := pipe.Exec(background)
					for _, err := range []error{one, cmd.Err(), err} {
						require.ErrorIs(t, err, tc.is, words)
						assert.Contains(t, err.Error(), tc.text)
						assert.Equal(t, words[0] == "get" || words[0] == "hgetall", redis.HasErrorPrefix(err, "WRONGTYPE"))
					}
				}
			})
		})
	}
}

// A decision that cannot be read, or a client that is not there, is named.
func TestUnansweredDecision(t *testing.T) {
	with(t, proxycompat.Redis(), func(r *rig) {
		r.fill()
		r.seal(str)
		r.decide("s", "committed 9\n")
		require.ErrorIs(t, r.rdb.Get(background, "s").Err(), rmw.ErrUnsupported)
		require.NoError(t, r.plain.Set(background, seal.DecisionKey("s"), "x", 0).Err())
		require.ErrorIs(t, r.rdb.Get(background, "s").Err(), rmw.ErrWrongKind)

		without := redis.NewClient(r.proxy.Options())
		defer without.Close()
		without.AddHook(sealed.NewHook(nil))
		err := without.Get(background, "s").Err()
		require.ErrorIs(t, err, rmw.ErrInvalid)
		assert.True(t, redisx.IsWrongType(err))
	})
}

// A ctx that ends during the look ends the read.
func TestCtxEnds(t *testing.T) {
	with(t, proxycompat.Redis(), func(r *rig) {
		r.fill()
		r.seal(str)
		for _, words := range [][]string{{"get", "s"}, {"exists", "s"}, {"ttl", "s"}, {"mget", "s"}} {
			ctx, cancel := context.WithCancel(background)
			r.rdb.AddHook(before("eval", cancel))
			cmd := map[string]redis.Cmder{
				"get": r.rdb.Get(ctx, "s"),
			}[words[0]]
			if cmd == nil {
				switch words[0] {
				case "exists":
					cmd = r.rdb.Exists(ctx, "s")
				case "ttl":
					cmd = r.rdb.TTL(ctx, "s")
				default:
					cmd = r.rdb.MGet(ctx, "s")
				}
			}
			assert.ErrorIs(t, cmd.Err(), context.Canceled, words[0])
			cancel()
		}
	})
}

// flickers is a hook that has a key sealed whenever it is read, and open whenever it is looked at.
type flickers struct{ r *rig }

func (f flickers) note(cmds ...redis.Cmder) {
	if cmds[0].Name() == "eval" {
		f.r.open(seal.Next{Key: "s", Kept: true})
	} else if f.r.plain.Type(background, "s").Val() != "list" {
		f.r.seal(str)
	}
}

func (f flickers) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f flickers) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		f.note(cmd)
		return next(ctx, cmd)
	}
}

func (f flickers) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		f.note(cmds...)
		return next(ctx, cmds)
	}
}

// A key that is sealed whenever it is read is an error after a second, as behind a replica that does not follow.
func TestNeverOpenWhenRead(t *testing.T) {
	with(t, proxycompat.Redis(), func(r *rig) {
		r.fill()
		r.rdb.AddHook(flickers{r})
		for _, words := range [][]string{{"get", "s"}, {"exists", "s"}, {"mget", "s"}} {
			began := time.Now()
			assert.ErrorIs(t, add(r.rdb, words).Err(), rmw.ErrContended, words)
			assert.InDelta(t, seal.Patience, time.Since(began), float64(50*time.Millisecond))
		}
	})
}

// EXEC does not notice that it writes over a seal that was there at WATCH. So a read after a WATCH waits until the key has none.
func TestReadsUnderWatch(t *testing.T) {
	reads := map[string]func(tx *redis.Tx) string{
		"get": func(tx *redis.Tx) string { return tx.Get(background, "s").Val() },
		"pipeline": func(tx *redis.Tx) string {
			p := tx.Pipeline()
			c := p.Get(background, "s")
			_, _ = p.Exec(background)
			return c.Val()
		},
		"mget": func(tx *redis.Tx) string {
			v, _ := tx.MGet(background, "s").Val()[0].(string)
			return v
		},
	}
	for name, read := range reads {
		t.Run(name, func(t *testing.T) {
			with(t, proxycompat.Redis(), func(r *rig) {
				r.fill()
				r.seal(str)
				later(5*time.Millisecond, func() { r.open(seal.Next{Key: "s", Value: rmw.String("1")}) })
				var seen []string
				attempt := func(tx *redis.Tx) error {
					v := read(tx)
					seen = append(seen, v)
					sleep(10 * time.Millisecond) // the update ends meanwhile
					_, err := tx.TxPipelined(background, func(pipe redis.Pipeliner) error {
						return pipe.Set(background, "s", v+"2", 0).Err()
					})
					return err
				}
				require.ErrorIs(t, r.rdb.Watch(background, attempt, "s"), redis.TxFailedErr)
				require.NoError(t, r.rdb.Watch(background, attempt, "s"))
				assert.Equal(t, []string{"1", "1"}, seen)
				assert.Equal(t, "12", r.plain.Get(background, "s").Val(), "the update is lost")
			})
		})
	}
	with(t, proxycompat.Redis(), func(r *rig) { // a process has crashed
		r.fill()
		r.seal(str)
		began := time.Now()
		err := r.rdb.Watch(background, func(tx *redis.Tx) error { return tx.Get(background, "s").Err() }, "s")
		require.ErrorIs(t, err, rmw.ErrContended)
		assert.True(t, redisx.IsWrongType(err))
		assert.InDelta(t, seal.Patience, time.Since(began), float64(50*time.Millisecond))
	})
}

// Commands in MULTI, and reads of a key that another command of the pipeline names, have the reply of the server.
func TestPassedThrough(t *testing.T) {
	with(t, proxycompat.Redis(), func(r *rig) {
		r.fill()
		r.seal(str)
		assert.EqualValues(t, 1, r.trips(func() {
			_, err := r.rdb.TxPipelined(background, func(pipe redis.Pipeliner) error { return pipe.Get(background, "s").Err() })
			assert.True(t, redisx.IsWrongType(err), "%v", err)
		}))
		pipe := r.rdb.Pipeline()
		get, exists := pipe.Get(background, "s"), pipe.Exists(background, "s")
		pipe.Del(background, "s")
		other := pipe.Exists(background, "n")
		_, _ = pipe.Exec(background)
		assert.True(t, redisx.IsWrongType(get.Err()))
		assert.EqualValues(t, 1, exists.Val())
		assert.EqualValues(t, 0, other.Val())
		for _, cmd := range [][]any{{"get"}, {"hget", "list"}, {"mget"}, {"exists"}, {"get", 5}, {"hmget", "list", 5}, {"get", nil}} {
			_ = r.rdb.Do(background, cmd...).Err() // no panic
		}
		r.fill()
		r.seal(hash)
		assert.Equal(t, "1", r.rdb.Do(background, "HGET", "h", []byte("f")).Val())
		assert.True(t, redisx.IsWrongType(r.rdb.Do(background, "HGETALL", "h").Err()))
		assert.EqualValues(t, 1, r.rdb.Do(background, "EXISTS", "h").Val())
	})
}

// An error of the client is the error of each read.
func TestClosedClient(t *testing.T) {
	with(t, proxycompat.Redis(), func(r *rig) {
		closed := redis.NewClient(r.proxy.Options())
		closed.AddHook(sealed.NewHook(closed))
		require.NoError(t, closed.Close())
		for _, words := range commands {
			assert.ErrorIs(t, add(closed, words).Err(), redis.ErrClosed, words)
			pipe := closed.Pipeline()
			cmd := add(pipe, words)
			_, err := pipe.Exec(background)
			assert.ErrorIs(t, err, redis.ErrClosed, words)
			assert.ErrorIs(t, cmd.Err(), redis.ErrClosed, words)
		}
	})
}
