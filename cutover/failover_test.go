package cutover_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// Without its replicas the new store gets no value, and gives none back.
func TestNewReplicasMustHaveTheMarker(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		require.NoError(t, update(add("x"))(r.open(follow)))
		at := func(stage cutover.Stage, replicas int) process {
			return r.openWith(cutover.Config{Stage: stage, NewReplicas: 2}, network{replicas: replicas})
		}
		require.ErrorContains(t, update(add("y"))(at(forward, 1)), "check the replication of the new store, or lower Config.NewReplicas")
		require.Equal(t, [2]string{"string", "list"}, r.where(room.Name), "no seal was sent")
		pass, err := at(forward, 1).Sweep(t.Context(), r.sweep(1))
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		require.Equal(t, 1, pass.Failed.Count)
		require.Equal(t, [2]string{"string", "list"}, r.where(room.Name), "no seal was sent")
		require.NoError(t, update(add("y"))(at(forward, 2)))
		require.Equal(t, [2]string{"list", "string"}, r.where(room.Name))
		require.ErrorIs(t, update(add("z"))(at(reverse, 1)), rmw.ErrUnavailable)
		require.Equal(t, [2]string{"list", "list"}, r.where(room.Name), "no fill was sent")
		pass, err = at(reverse, 2).Sweep(t.Context(), r.sweep(1))
		require.NoError(t, err)
		require.Equal(t, 1, pass.Moved)
		v, err := r.open(follow).Read(t.Context(), room)
		require.NoError(t, err)
		assert.Equal(t, "x,y,", v.Text())
	})
}

// A marker that only an isolated primary of the old store has must not change the new store.
func TestOldReplicasMustHaveTheMarker(t *testing.T) {
	const nonce = ".1y2p0ij32e8e7"
	for name, tc := range map[string]struct {
		script []any // makes the state of the new store, after the key has moved there
		stage  cutover.Stage
		want   [2]string // types, once the replicas have the marker
	}{
		"seal":   {nil, reverse, [2]string{"string", "list"}},
		"unseal": {[]any{"seal", "2" + nonce, "1" + nonce, 1000}, follow, [2]string{"list", "string"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				require.NoError(t, update(add("x"))(r.open(forward)))
				sleep(time.Second) // the mark
				moved, new := [2]string{"list", "string"}, r.admin(1)
				if tc.script != nil {
					require.NoError(t, new.Eval(t.Context(), markerScript, []string{room.Name}, tc.script...).Err())
					moved[1] = "list"
				}
				keep := func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur, nil }
				at := func(replicas int) process {
					return r.openWith(cutover.Config{Stage: tc.stage, Replicas: 2}, network{replicas: replicas})
				}
				require.ErrorIs(t, update(keep)(at(1)), rmw.ErrUnavailable)
				require.Equal(t, moved, r.where(room.Name))
				_, err := at(1).Sweep(t.Context(), r.sweep(1))
				require.ErrorIs(t, err, rmw.ErrUnavailable)
				require.Equal(t, moved, r.where(room.Name))
				require.NoError(t, update(keep)(at(2)))
				sleep(time.Second)
				require.Equal(t, tc.want, r.where(room.Name))
			})
		})
	}
}

// A sweep waits twice for a batch, not for each key of it.
func TestSweepWaitsPerBatch(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.fill(20)
		for _, stage := range []cutover.Stage{forward, reverse} {
			var waits []int
			n := network{replicas: 1, waits: func(touches int) { waits = append(waits, touches) }}
			pass, err := r.openWith(cutover.Config{Stage: stage, Replicas: 1, NewReplicas: 1}, n).Sweep(t.Context(), r.sweep(16))
			require.NoError(t, err)
			assert.Equal(t, 20, pass.Moved)
			assert.Equal(t, []int{16, 16, 4, 4}, waits, "for the markers, and for the seals")
		}
	})
}

// A key finds a home also if a failover, without Config.Replicas, has forgotten several of its moves.
func TestForgottenMovesBlockNoKey(t *testing.T) {
	for name, back := range map[string]struct {
		side int    // that forgets
		want string // the value of the other side's last seal
	}{"old": {0, "v,x,y,z,"}, "new": {1, "v,x,y,z,w,"}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				require.NoError(t, update(add("v"))(r.open(follow)))
				var early [2][]string
				for i, stage := range []cutover.Stage{forward, reverse, forward, reverse, forward}[:4+back.side] {
					require.NoError(t, update(add([]string{"x", "y", "z", "w", "u"}[i]))(r.open(stage)))
					sleep(time.Second) // the mark
					if i == back.side {
						early[i] = r.admin(i).LRange(t.Context(), room.Name, 0, -1).Val()
					}
				}
				rdb := r.admin(back.side)
				require.NoError(t, rdb.Del(t.Context(), room.Name).Err())
				for _, element := range early[back.side] {
					require.NoError(t, rdb.RPush(t.Context(), room.Name, element).Err())
				}
				p := r.openWith(cutover.Config{MaxAttempts: 20})
				report, err := p.Verify(t.Context(), r.sweep(1))
				require.NoError(t, err)
				assert.Equal(t, 1, report.Forgotten.Count, "%+v", report)
				v, err := p.Read(t.Context(), room)
				require.NoError(t, err)
				assert.Equal(t, back.want, v.Text())
				assert.Contains(t, r.where(room.Name), "string")
			})
		})
	}
}

// Two primaries of the old store, as during a partition, can seal a key for the same reservation. A process
// of each brings it on.
func TestSealsOfTwoPrimariesBlockNoKey(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		require.NoError(t, update(add("v"))(r.open(follow)))
		require.NoError(t, update(add("x"))(r.open(forward)))
		sleep(time.Second) // the mark
		old := r.admin(0)
		seal := old.LRange(t.Context(), room.Name, 0, -1).Val()
		require.NoError(t, update(add("y"))(r.open(reverse)))
		sleep(time.Second)
		seal[2] = "1.1y2p0ij32e8e7" // that of the other primary
		require.NoError(t, old.Del(t.Context(), room.Name).Err())
		for _, element := range seal {
			require.NoError(t, old.RPush(t.Context(), room.Name, element).Err())
		}
		v, err := r.openWith(cutover.Config{MaxAttempts: 20}).Read(t.Context(), room)
		require.NoError(t, err)
		assert.Equal(t, "v,x,", v.Text())
	})
}

// A WAIT goes to the server of the key, also through a client of several servers.
func TestReplicasOfARing(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		rings := [2]*redis.Ring{}
		for i := range rings {
			rings[i] = redis.NewRing(&redis.RingOptions{
				Addrs: map[string]string{"a": "a", "b": "b"}, Protocol: 2,
				Dialer: r.proxies[i].Dial, // both shards are the same server
				NewClient: func(options *redis.Options) *redis.Client {
					rdb := redis.NewClient(options)
					rdb.AddHook(network{replicas: 1})
					return rdb
				},
			})
		}
		sides := [2]cutover.Side{}
		for i, rdb := range rings {
			sides[i] = cutover.Side{Store: lockupdate.New(rdb, lockupdate.Config{}), Redis: rdb}
		}
		s := cutover.New(sides[0], sides[1], cutover.Config{Stage: forward, Replicas: 1, NewReplicas: 1})
		for i := range 20 {
			_, err := s.Update(t.Context(), rmw.Key{Name: fmt.Sprint("k", i)}, add("x"))
			require.NoError(t, err)
		}
		require.NoError(t, s.Close())
		for i, side := range sides {
			require.NoError(t, side.Store.(*lockupdate.Store).Close())
			require.NoError(t, rings[i].Close())
		}
	})
}
