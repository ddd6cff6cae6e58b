package integration

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/rmw"
)

// putAll is a TxFunc that appends to strings, and changes hashes.
func putAll(keys ...rmw.Key) rmw.TxFunc {
	return func(_ context.Context, tx *rmw.Tx) error {
		for _, key := range keys {
			v := tx.Get(key)
			if key.Kind == rmw.KindHash {
				tx.Put(key, rmw.Hash(map[string]string{"n": field(v, "n") + "x"}))
				continue
			}
			tx.Put(key, rmw.String(v.Text()+"x"))
		}
		return nil
	}
}

// A Redis Cluster permits keys with one slot.
func TestWatchOfSeveralKeysInCluster(t *testing.T) {
	t.Parallel()
	nodes := servers.Cluster(t, 3)
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nodes[0].Addr}})
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	store := cas.New(rdb, cas.Config{})
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	a, b, far := rmw.Key{Name: "{room}:a"}, rmw.Key{Name: "{room}:b", Kind: rmw.KindHash}, rmw.Key{Name: "far"}
	for _, odd := range []rmw.Key{{Name: "{}odd"}, {Name: "odd}"}, {Name: "x"}} {
		_, err := store.Transact(t.Context(), []rmw.Key{odd}, putAll(odd))
		require.NoError(t, err, odd.Name)
	}
	for _, named := range [][]rmw.Key{{a, b}, {a}} {
		_, err := store.Transact(t.Context(), named, putAll(a, b))
		require.NoError(t, err)
		_, err = store.Transact(t.Context(), append(slices.Clone(named), far), putAll(a, b, far))
		require.ErrorIs(t, err, rmw.ErrUnsupported)
		_, err = store.Transact(t.Context(), named, putAll(a, b, far))
		require.ErrorIs(t, err, rmw.ErrUnsupported)
	}
	assert.Equal(t, "xx", rdb.Get(t.Context(), a.Name).Val())
	assert.Equal(t, "xx", rdb.HGet(t.Context(), b.Name, "n").Val())
	assert.Zero(t, rdb.Exists(t.Context(), far.Name).Val())
}

// oldServer lets a server refuse KEEPTTL, so that a Store writes several keys by its script.
type oldServer struct{}

func (oldServer) DialHook(next redis.DialHook) redis.DialHook { return next }

func (oldServer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if slices.Contains(cmd.Args(), any("keepttl")) {
			cmd.SetErr(syntaxError{})
			return syntaxError{}
		}
		return next(ctx, cmd)
	}
}

func (oldServer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

type syntaxError struct{}

func (syntaxError) Error() string { return "ERR syntax error" }
func (syntaxError) RedisError()   {}

// The script that writes several keys works on a real server, and writes nothing if a right is missing for one of its writes.
func TestScriptOfSeveralKeys(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	admin := client(t, server.Addr)
	text, hash := rmw.Key{Name: "text"}, rmw.Key{Name: "hash", Kind: rmw.KindHash}
	for name, tc := range map[string]struct {
		rights []string
		want   error
	}{"all": {}, "no HDEL": {[]string{"-hdel"}, rmw.ErrUnsupported}} {
		ctx := t.Context()
		require.NoError(t, admin.FlushAll(ctx).Err())
		require.NoError(t, admin.Set(ctx, text.Name, "a", time.Hour).Err())
		require.NoError(t, admin.HSet(ctx, hash.Name, "n", "a", "gone", "1").Err())
		user := []string{strings.ReplaceAll(name, " ", "_"), "on", ">...", "~*", "+@all"}
		rdb := withRights(t, admin, server.Addr, append(user, tc.rights...))
		rdb.AddHook(oldServer{})
		store := cas.New(rdb, cas.Config{})
		_, err := store.Transact(ctx, []rmw.Key{text, hash}, putAll(text, hash))
		require.NoError(t, store.Close())
		require.ErrorIs(t, err, tc.want)
		require.NotErrorIs(t, err, rmw.ErrOutcomeUnknown)
		if tc.want == nil {
			assert.Equal(t, "ax", admin.Get(ctx, text.Name).Val())
			assert.Equal(t, map[string]string{"n": "ax"}, admin.HGetAll(ctx, hash.Name).Val())
			assert.InDelta(t, time.Hour, admin.PTTL(ctx, text.Name).Val(), float64(time.Minute))
			continue
		}
		assert.Equal(t, "a", admin.Get(ctx, text.Name).Val())
		assert.Equal(t, map[string]string{"n": "a", "gone": "1"}, admin.HGetAll(ctx, hash.Name).Val())
	}
}

// A field that expires while fn runs ends the attempt, and none of its keys is written.
func TestFieldsExpireDuringTransact(t *testing.T) {
	t.Parallel()
	rdb, ctx := client(t, servers.Redis(t, "--enable-debug-command", "yes").Addr), t.Context()
	needFieldExpiries(t, rdb)
	require.NoError(t, rdb.Do(ctx, "DEBUG", "SET-ACTIVE-EXPIRE", 0).Err())
	store := openCAS(rdb).(rmw.Transactor)
	t.Cleanup(func() { require.NoError(t, store.(io.Closer).Close()) })
	text, hash := rmw.Key{Name: "text"}, rmw.Key{Name: "hash", Kind: rmw.KindHash}
	require.NoError(t, rdb.HSet(ctx, hash.Name, "otp", "1", "n", "1").Err())
	var seen []int
	_, err := store.Transact(ctx, []rmw.Key{text, hash}, func(ctx context.Context, tx *rmw.Tx) error {
		if seen = append(seen, tx.Get(hash).Len()); len(seen) == 1 {
			require.NoError(t, rdb.HPExpire(ctx, hash.Name, time.Millisecond, "otp").Err())
			for rdb.HExists(ctx, hash.Name, "otp").Val() {
			}
		}
		return putAll(text, hash)(ctx, tx)
	})
	require.NoError(t, err)
	assert.Equal(t, []int{2, 1}, seen)
	assert.Equal(t, "x", rdb.Get(ctx, text.Name).Val())
}

// replyLost loses the reply to the first EXEC.
type replyLost struct{ done bool }

func (*replyLost) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*replyLost) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (h *replyLost) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if h.done || err != nil || cmds[0].Name() != "multi" {
			return err
		}
		h.done = true
		for _, cmd := range cmds {
			cmd.SetErr(io.EOF)
		}
		return io.EOF
	}
}

// With all rights of both lines, cas opens a key that a process of lockupdate has left sealed. With its own it changes nothing.
func TestRightsToOpenASealByWATCH(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	admin := client(t, server.Addr)
	for _, also := range []bool{false, true} {
		require.NoError(t, admin.FlushAll(t.Context()).Err())
		dead(t, admin)
		words := documentedRights(t, "security.md", "cas")
		if also {
			words = append(words, documentedRights(t, "security.md", "transact")[2:]...)
			words = slices.DeleteFunc(words, func(word string) bool { return word == "-@all" })
		}
		store := cas.New(withRights(t, admin, server.Addr, words), cas.Config{})
		key := rmw.Key{Name: "room:sealed"}
		_, err := store.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			return rmw.String(cur.Text() + "x"), nil
		})
		require.NoError(t, store.Close())
		if !also {
			require.ErrorIs(t, err, rmw.ErrWrongKind)
			assert.Equal(t, "list", admin.Type(t.Context(), key.Name).Val())
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, "5x", admin.Get(t.Context(), key.Name).Val())
	}
}

// Each right that docs/security.md adds for Transact of cas is necessary, and they suffice.
func TestMinimalACLOfTransactByWATCH(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	admin := client(t, server.Addr)
	added := []string{"~~tx:*", "+append", "+exists"}
	for _, left := range append(added, "") {
		words := append(documentedRights(t, "security.md", "cas"), added...)
		rdb := withRights(t, admin, server.Addr, slices.DeleteFunc(words, func(word string) bool { return word == left }))
		rdb.AddHook(new(replyLost))
		store := cas.New(rdb, cas.Config{})
		a, b := rmw.Key{Name: "room:a"}, rmw.Key{Name: "room:b"}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		_, err := store.Transact(ctx, []rmw.Key{a, b}, putAll(a, b))
		_, errRead := rmw.ReadAll(ctx, store, a, b)
		cancel()
		err = errors.Join(err, errRead)
		require.NoError(t, store.Close())
		if left == "" {
			require.NoError(t, err)
			continue
		}
		require.Error(t, err, "%s is too much: nothing fails without it", left)
		assert.Contains(t, err.Error(), "NOPERM", left)
	}
}
