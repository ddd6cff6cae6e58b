package cas

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

func TestCommandsWriteNoMoreThanTheChange(t *testing.T) {
	text, hash := rmw.Key{Name: "k"}, rmw.Key{Name: "k", Kind: rmw.KindHash}
	cur := rmw.Hash(map[string]string{"a": "1", "b": "2"})
	type sent = [][]any
	px := func(ms int64) sent { return sent{{"set", "k", "x", "px", ms}} }
	for name, tc := range map[string]struct {
		change change
		old    bool
		want   sent
	}{
		"keep the expiry":       {change{key: text, next: rmw.String("x")}, false, sent{{"set", "k", "x", "keepttl"}}},
		"keep it, old server":   {change{key: text, next: rmw.String("x")}, true, sent{{"eval", keepTTL, 1, "k", "x"}}},
		"set the expiry":        {change{key: text, next: rmw.String("x"), ttl: 1500 * time.Microsecond}, false, px(1)},
		"set it, old server":    {change{key: text, next: rmw.String("x"), ttl: time.Hour}, true, px(3600000)},
		"remove the expiry":     {change{key: text, next: rmw.String("x"), ttl: rmw.NoTTL}, true, sent{{"set", "k", "x"}}},
		"delete":                {change{key: text, cur: rmw.String("x")}, false, sent{{"del", "k"}}},
		"delete a hash":         {change{key: hash, cur: cur, ttl: time.Hour}, false, sent{{"del", "k"}}},
		"one field of two":      {change{key: hash, cur: cur, next: cur.With("a", "x")}, false, sent{{"hmset", "k", "a", "x"}}},
		"an empty field is new": {change{key: hash, cur: cur, next: cur.With("c", "")}, false, sent{{"hmset", "k", "c", ""}}},
		"a field less":          {change{key: hash, cur: cur, next: cur.Without("a")}, false, sent{{"hdel", "k", "a"}}},
		"both": {
			change{key: hash, cur: cur, next: cur.Without("a").With("b", "x")}, false,
			sent{{"hmset", "k", "b", "x"}, {"hdel", "k", "a"}},
		},
		"fields, then the expiry": {
			change{key: hash, cur: cur, next: cur.Without("a"), ttl: time.Second}, false,
			sent{{"hdel", "k", "a"}, {"pexpire", "k", int64(1000)}},
		},
		"the expiry alone":           {change{key: hash, cur: cur, next: cur, ttl: time.Second}, false, sent{{"pexpire", "k", int64(1000)}}},
		"no expiry":                  {change{key: hash, cur: cur, next: cur, ttl: rmw.NoTTL}, false, sent{{"persist", "k"}}},
		"nothing, but EXEC is asked": {change{key: hash, cur: cur, next: cur}, false, sent{{"hlen", "k"}}},
	} {
		var got sent
		for _, cmd := range commands(t.Context(), tc.change, tc.old) {
			got = append(got, cmd.Args())
			assert.True(t, cmd.NoRetry(), "go-redis must not send it twice")
		}
		assert.Equal(t, tc.want, got, name)
	}
}

// server starts one in this process and returns a client and a Store for it.
func server(t *testing.T) (*proxytest.Proxy, *redis.Client, *Store) {
	t.Helper()
	p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis(), InMemory: true})
	require.NoError(t, err)
	rdb := redis.NewClient(p.Options())
	s := New(rdb, Config{})
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, rdb.Close())
		require.NoError(t, p.Close())
	})
	return p, rdb, s
}

// The script that stands in for KEEPTTL does what KEEPTTL does.
func TestKeepTTLScriptKeepsTheExpiry(t *testing.T) {
	for _, old := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p, rdb, s := server(t)
			s.old.Store(old)
			ctx := t.Context()
			update := func(name string) {
				t.Helper()
				_, err := s.Update(ctx, rmw.Key{Name: name}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
					return rmw.String(cur.Text() + "x"), nil
				})
				require.NoError(t, err)
			}
			require.NoError(t, rdb.Set(ctx, "expires", "v", time.Hour).Err())
			require.NoError(t, rdb.Set(ctx, "stays", "v", 0).Err())
			time.Sleep(time.Minute)
			for _, name := range []string{"expires", "stays", "new"} {
				update(name)
			}
			assert.Equal(t, time.Hour-time.Minute, rdb.PTTL(ctx, "expires").Val())
			assert.EqualValues(t, -1, rdb.PTTL(ctx, "stays").Val())
			assert.EqualValues(t, -1, rdb.PTTL(ctx, "new").Val())
			assert.Equal(t, "vx", rdb.Get(ctx, "expires").Val())
			assert.Equal(t, "x", rdb.Get(ctx, "new").Val())
			assert.Equal(t, old, p.Count()["EVAL"] == 3)

			// It is the commit of a transaction all the same.
			calls := 0
			_, err := s.Update(ctx, rmw.Key{Name: "stays"}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				if calls++; calls == 1 {
					require.NoError(t, rdb.Set(ctx, "stays", "theirs", 0).Err())
				}
				return rmw.String(cur.Text() + "+mine"), nil
			})
			require.NoError(t, err)
			assert.Equal(t, "theirs+mine", rdb.Get(ctx, "stays").Val())
		})
	}
}

func TestReadingSaysWhatItFound(t *testing.T) {
	_, rdb, _ := server(t)
	ctx := t.Context()
	require.NoError(t, rdb.Set(ctx, "text", "", 0).Err())
	require.NoError(t, rdb.HSet(ctx, "hash", "f", "1").Err())
	require.NoError(t, rdb.RPush(ctx, "list", "1").Err())
	for _, inTransaction := range []bool{false, true} {
		read := func(name string, kind rmw.Kind) (rmw.Value, error) {
			r := newReading(ctx, rmw.Key{Name: name, Kind: kind}, inTransaction)
			r.ask(ctx, rdb)
			return r.value()
		}
		v, err := read("text", rmw.KindString)
		require.NoError(t, err)
		assert.True(t, v.Equal(rmw.String("")))
		v, err = read("hash", rmw.KindHash)
		require.NoError(t, err)
		assert.True(t, v.Equal(rmw.Hash(map[string]string{"f": "1"})))
		for _, kind := range []rmw.Kind{rmw.KindString, rmw.KindHash} {
			v, err = read("absent", kind)
			require.NoError(t, err)
			assert.False(t, v.Exists())
			_, err = read("list", kind)
			require.ErrorIs(t, err, rmw.ErrWrongKind)
		}
		_, err = read("hash", rmw.KindString)
		require.ErrorIs(t, err, rmw.ErrWrongKind)
		_, err = read("text", rmw.KindHash)
		require.ErrorIs(t, err, rmw.ErrWrongKind)
	}
}
