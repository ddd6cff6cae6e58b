package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/profilefile"
	"github.com/unwatch/unwatch/rmw"
)

// moved is the value of the key k that movable moves.
const moved = "the-value"

// movable opens an old and a new redis-server, and a cut-over between them that moves the key k.
func movable(t *testing.T) (old, new *redis.Client, move func(phase cutover.Phase, key rmw.Key)) {
	t.Helper()
	var rdb [2]*redis.Client
	var sides [2]cutover.Side
	for i := range sides {
		rdb[i] = client(t, servers.Redis(t).Addr)
		store := lockupdate.New(rdb[i], lockupdate.Config{})
		t.Cleanup(func() { assert.NoError(t, store.Close()) })
		sides[i] = cutover.Side{Store: store, Redis: rdb[i]}
	}
	return rdb[0], rdb[1], func(phase cutover.Phase, key rmw.Key) {
		s := cutover.New(sides[0], sides[1], cutover.Config{Stage: cutover.Stage{Phase: phase, Percent: 100}})
		cfg := operate.SweepConfig{Masters: []operate.Scanner{rdb[0]}, Keys: func(name string) (rmw.Key, bool) {
			return key, name == key.Name
		}}
		_, err := operate.Sweep(t.Context(), s, cfg)
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
}

// send sends a command, as words.
func send(t *testing.T, do func(ctx context.Context, args ...any) *redis.Cmd, command string) (string, error) {
	t.Helper()
	var words []any
	for word := range strings.FieldsSeq(command) {
		words = append(words, word)
	}
	got, err := do(t.Context(), words...).Result()
	return fmt.Sprint(got), err
}

// Commands that the servers of the other tests lack act on a marker as the table of docs/cutover.md says.
func TestCommandsOnARealMarker(t *testing.T) {
	t.Parallel()
	old, new, move := movable(t)
	do := func(command string) (string, error) { return send(t, old.Do, command) }
	profile, err := profilefile.Load("../cmd/migrate-check/blind-writers.yaml")
	require.NoError(t, err)
	for _, group := range []struct {
		commands               string
		destroys, shows, fails bool
	}{
		{"LRANGE k 0 -1, LINDEX k 7, SORT k ALPHA, SORT k BY nosort, DUMP k", false, true, false},
		{"LLEN k, LPOS k " + moved + ", OBJECT ENCODING k, KEYS *, SCAN 0 COUNT 100, SCAN 0 COUNT 100 TYPE list, DBSIZE, RANDOMKEY, MEMORY USAGE k", false, false, false},
		{"SORT k, HEXISTS k f, HSCAN k 0, GETRANGE k 0 1, GETEX k, PFMERGE k none, SUBSTR k 0 1", false, false, true},
		{"SORT l ALPHA STORE k, SORT none STORE k, ZRANGESTORE k z 0 -1, ZDIFFSTORE k 1 z, ZRANGESTORE k none 0 -1, " +
			"GEORADIUS g 1 1 1 km STORE k, GEORADIUSBYMEMBER g a 1 km STOREDIST k, GEOSEARCHSTORE k g FROMMEMBER a BYRADIUS 1 km, " +
			"BITOP NOT k s, COPY s k REPLACE", true, false, false},
		{"LPOP k, RPUSH k x, LTRIM k 0 3, LREM k 1 " + moved + ", LSET k 7 x, LMOVE k l LEFT RIGHT", true, false, false},
	} {
		for command := range strings.SplitSeq(group.commands, ", ") {
			require.NoError(t, errors.Join(old.FlushAll(t.Context()).Err(), new.FlushAll(t.Context()).Err()))
			for _, setup := range []string{"SET k " + moved, "SET s v", "RPUSH l a b", "ZADD z 1 a", "GEOADD g 1 1 a"} {
				_, err := do(setup)
				require.NoError(t, err)
			}
			move(cutover.Copying, rmw.Key{Name: "k"})
			before := old.LRange(t.Context(), "k", 0, -1).Val()
			require.Contains(t, before, moved)
			got, err := do(command)
			assert.Equal(t, group.fails, err != nil, "%s: %v", command, err)
			assert.Equal(t, group.shows, strings.Contains(got, moved), "%s: %q", command, got)
			assert.Equal(t, group.destroys, !slices.Equal(before, old.LRange(t.Context(), "k", 0, -1).Val()), command)
			if name, _, _ := strings.Cut(command, " "); group.destroys {
				assert.Equal(t, proxycompat.Refused, profile.Rule(name).Verdict, "blind-writers.yaml: %s", command)
			}
		}
	}
	for kind, sees := range map[string]bool{"string": false, "hash": false, "list": true} { // k is moved, s is not
		require.NoError(t, old.Del(t.Context(), "k").Err())
		require.NoError(t, new.Del(t.Context(), "k").Err())
		require.NoError(t, old.Set(t.Context(), "k", moved, 0).Err())
		move(cutover.Copying, rmw.Key{Name: "k"})
		names, _, err := old.ScanType(t.Context(), 0, "", 100, kind).Result()
		require.NoError(t, err)
		assert.Equal(t, sees, slices.Contains(names, "k"), "SCAN TYPE %s finds %v", kind, names)
	}
}

// The stores publish the keyspace events of a move that docs/cutover.md lists.
func TestKeyspaceEventsOfAMove(t *testing.T) {
	t.Parallel()
	old, new, move := movable(t)
	type events = struct{ old, new string }
	const away = "del rpush lset"
	for _, tc := range []struct {
		create        string
		kind          rmw.Kind
		forward, back events
	}{
		{"SET k v", rmw.KindString, events{away, "rpush set"}, events{"lset set", away}},
		{"SET k v EX 3600", rmw.KindString, events{away, "rpush set expire"}, events{"lset set expire", away}},
		{"HSET k f v", rmw.KindHash, events{away, "rpush del hset"}, events{"lset del hset", away}},
		{"EVAL redis.call('HSET',KEYS[1],'f','v')redis.call('EXPIRE',KEYS[1],9999) 1 k", rmw.KindHash,
			events{away, "rpush expire del hset expire"}, events{"lset expire del hset expire", away}},
	} {
		require.NoError(t, errors.Join(old.FlushAll(t.Context()).Err(), new.FlushAll(t.Context()).Err()))
		if _, err := send(t, old.Do, tc.create); !errors.Is(err, redis.Nil) {
			require.NoError(t, err)
		}
		key := rmw.Key{Name: "k", Kind: tc.kind}
		assert.Equal(t, tc.forward, eventsOf(t, old, new, func() { move(cutover.Copying, key) }), tc.create)
		assert.Equal(t, tc.back, eventsOf(t, old, new, func() { move(cutover.Reverse, key) }), tc.create)
	}
}

// A transaction of old code is safe if it reads the key, after its WATCH, by a command that a marker refuses, and
// stops then. Any other read lets it destroy the marker, and the key has two homes.
func TestTransactionsOnARealMarker(t *testing.T) {
	t.Parallel()
	old, new, move := movable(t)
	for read, safe := range map[string]bool{
		"GET k": true, "STRLEN k": true, "HGETALL k": true, "HGET k f": true, "GETRANGE k 0 -1": true,
		"MGET k": false, "EXISTS k": false, "TTL k": false, "PTTL k": false, "TYPE k": false, "TOUCH k": false, "OBJECT ENCODING k": false,
		"GET k, and goes on": false, "HGETALL k, and goes on": false, "": false,
		"EVAL return(redis.call('GET',KEYS[1])) 1 k":     true,
		"EVAL return(redis.call('EXISTS',KEYS[1])) 1 k":  false,
		"EVAL return(redis.pcall('GET',KEYS[1])~=1) 1 k": false,
	} {
		for _, late := range []bool{false, true} { // the key moves between the read and EXEC
			require.NoError(t, errors.Join(old.FlushAll(t.Context()).Err(), new.FlushAll(t.Context()).Err()))
			require.NoError(t, old.Set(t.Context(), "k", moved, 0).Err())
			key := rmw.Key{Name: "k"}
			if !late {
				move(cutover.Copying, key)
			}
			err := old.Watch(t.Context(), func(tx *redis.Tx) error {
				command, goesOn := strings.CutSuffix(read, ", and goes on")
				if command != "" {
					if _, err := send(t, tx.Do, command); err != nil && !goesOn && !late {
						return err
					}
				}
				if late {
					move(cutover.Copying, key)
				}
				_, err := tx.TxPipelined(t.Context(), func(p redis.Pipeliner) error { return p.Set(t.Context(), "k", "blind", 0).Err() })
				return err
			}, "k")
			if late {
				require.ErrorIs(t, err, redis.TxFailedErr, read)
			} else {
				assert.Equal(t, safe, err != nil, "%s: %v", read, err)
			}
			homes := [2]string{old.Type(t.Context(), "k").Val(), new.Get(t.Context(), "k").Val()}
			assert.Equal(t, [2]string{map[bool]string{true: "list", false: "string"}[safe || late], moved}, homes, read)
		}
	}
}

// eventsOf returns the keyspace events of the key k at both servers while do runs.
func eventsOf(t *testing.T, old, new *redis.Client, do func()) (got struct{ old, new string }) {
	t.Helper()
	var subs [2]*redis.PubSub
	for i, rdb := range []*redis.Client{old, new} {
		require.NoError(t, rdb.ConfigSet(t.Context(), "notify-keyspace-events", "KA").Err())
		subs[i] = rdb.Subscribe(t.Context(), "__keyspace@0__:k", "end")
		for range 2 {
			_, err := subs[i].Receive(t.Context())
			require.NoError(t, err)
		}
	}
	do()
	for i, rdb := range []*redis.Client{old, new} {
		require.NoError(t, rdb.Publish(t.Context(), "end", "").Err())
		var names []string
		for {
			message, err := subs[i].ReceiveMessage(t.Context())
			require.NoError(t, err)
			if message.Channel == "end" {
				break
			}
			names = append(names, message.Payload)
		}
		require.NoError(t, subs[i].Close())
		*[]*string{&got.old, &got.new}[i] = strings.Join(names, " ")
	}
	return got
}
