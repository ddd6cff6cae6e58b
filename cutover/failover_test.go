package cutover_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// Without the replicas of a marker, no step that relies on it is sent, neither by an update nor by a sweep: an isolated
// primary may be the only server that has it.
func TestReplicasMustHaveTheMarker(t *testing.T) {
	const nonce = ".1y2p0ij32e8e7"
	atOld, atNew, back := [2]string{"string", "list"}, [2]string{"list", "string"}, [2]string{"list", "list"}
	for name, tc := range map[string]struct {
		before, now cutover.Stage
		replicas    [2]int
		script      []any // makes the state of the new store, after the key has moved there
		stopped     [2]string
		want        [2]string // once the replicas have the marker
	}{
		"new, a reservation":          {follow, forward, [2]int{0, 2}, nil, atOld, atNew},
		"new, a seal of a way back":   {forward, reverse, [2]int{0, 2}, nil, back, atOld},
		"old, a seal":                 {follow, forward, [2]int{2, 0}, nil, back, atNew},
		"old, a marker to send back":  {forward, reverse, [2]int{2, 0}, nil, atNew, atOld},
		"old, a marker for an unseal": {forward, follow, [2]int{2, 0}, []any{"seal", "2" + nonce, "1" + nonce, 1000}, back, atNew},
	} {
		run(t, name, func(t *testing.T, r *rig) {
			r.open(tc.before).add("x")
			sleep(time.Second) // the mark
			if tc.script != nil {
				require.NoError(t, r.admin(1).Eval(t.Context(), markerScript, []string{room.Name}, tc.script...).Err())
			}
			with := func(replicas int) process {
				cfg := cutover.Config{Stage: tc.now, Replicas: tc.replicas[0], NewReplicas: tc.replicas[1]}
				return r.openWith(cfg, network{replicas: replicas})
			}
			field := "new store, or lower Config.NewReplicas"
			if tc.replicas[0] > 0 {
				field = "old store, or lower Config.Replicas"
			}
			for range 2 { // the second one finds the state that the first one leaves
				err := with(1).change(add("y"))
				require.ErrorIs(t, err, rmw.ErrUnavailable)
				require.ErrorContains(t, err, "1 of 2 replicas have the marker of the key after 1s: check the replication of the "+field)
				require.Equal(t, tc.stopped, r.where(room.Name))
				pass, err := operate.Sweep(t.Context(), with(1).Store, r.old(1))
				require.ErrorIs(t, err, rmw.ErrUnavailable)
				require.Equal(t, 1, pass.Failed.Count)
				require.Equal(t, tc.stopped, r.where(room.Name))
			}
			with(2).add("y")
			sleep(time.Second)
			require.Equal(t, tc.want, r.where(room.Name))
			r.open(follow).requireText("x,y,")
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
			pass := r.openWith(cutover.Config{Stage: stage, Replicas: 1, NewReplicas: 1}, n).sweep(r.old(16))
			assert.Equal(t, 20, pass.Moved)
			assert.Equal(t, []int{16, 16, 4, 4}, waits, "for the markers, and for the seals")
		}
	})
}

// A key finds a home also if a failover, without Config.Replicas, has forgotten several of its moves, or if both primaries
// of the old store, as during a partition, have sealed it for the same reservation.
func TestForgottenMovesBlockNoKey(t *testing.T) {
	for name, tc := range map[string]struct {
		side     int // that forgets
		keeps    int // the move that it has seen last
		moves    int
		isolated bool // it has another seal than the other side saw
		want     string
	}{
		"old":                  {0, 0, 4, false, "v,0,1,2,"},
		"new":                  {1, 1, 5, false, "v,0,1,2,3,"},
		"a second old primary": {0, 0, 2, true, "v,0,"},
	} {
		run(t, name, func(t *testing.T, r *rig) {
			r.open(follow).add("v")
			rdb, marker := r.admin(tc.side), []any{}
			for i := range tc.moves {
				r.open([]cutover.Stage{forward, reverse}[i%2]).add(fmt.Sprint(i))
				sleep(time.Second) // the mark
				if i == tc.keeps {
					for _, element := range rdb.LRange(t.Context(), room.Name, 0, -1).Val() {
						marker = append(marker, element)
					}
				}
			}
			if tc.isolated {
				marker[2] = "1.1y2p0ij32e8e7"
			}
			require.NoError(t, rdb.Del(t.Context(), room.Name).Err())
			require.NoError(t, rdb.RPush(t.Context(), room.Name, marker...).Err())
			p := r.openWith(cutover.Config{MaxAttempts: 20})
			assert.Equal(t, 1, p.verify(r.old(1)).Forgotten.Count)
			p.requireText(tc.want)
			assert.Contains(t, r.where(room.Name), "string")
		})
	}
}

// A WAIT goes to the server of the key, also through a client of several servers.
func TestReplicasOfACluster(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		sides := [2]cutover.Side{}
		for i := range sides {
			cluster := redis.NewClusterClient(&redis.ClusterOptions{
				ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
					return []redis.ClusterSlot{
						{Start: 0, End: 8191, Nodes: []redis.ClusterNode{{Addr: "a"}}},
						{Start: 8192, End: 16383, Nodes: []redis.ClusterNode{{Addr: "b"}}},
					}, nil
				},
				Protocol: 2, DisableRoutingPolicies: true,
				Dialer: r.proxies[i].Dial, // both masters are the same server
				NewClient: func(options *redis.Options) *redis.Client {
					rdb := redis.NewClient(options)
					rdb.AddHook(network{replicas: 1})
					return rdb
				},
			})
			store := lockupdate.New(cluster, lockupdate.Config{})
			defer cluster.Close()
			defer store.Close()
			sides[i] = cutover.Side{Store: store, Redis: cluster}
		}
		s := cutover.New(sides[0], sides[1], cutover.Config{Stage: forward, Replicas: 1, NewReplicas: 1})
		defer s.Close()
		for i := range 20 {
			_, err := s.Update(t.Context(), rmw.Key{Name: fmt.Sprint("k", i)}, add("x"))
			require.NoError(t, err)
		}
	})
}

// Both stores are behind proxies that send GET to a replica, a minute behind. No call reads a stale value, and
// no sweep or verify takes one for a key. Control: GET does.
func TestReplicasAnswerReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lagging := proxytest.Config{Profile: proxycompat.Codis32(), ReplicaLag: time.Minute}
		r := start(t, lagging, lagging)
		cfg := operate.SweepConfig{Masters: []operate.Scanner{engine{r.proxies[0].Engine(0)}}}
		want, stale := "", 0
		for i, stage := range []cutover.Stage{follow, forward, follow, reverse, forward, reverse} {
			p := r.open(stage)
			p.add(fmt.Sprint(i))
			want += fmt.Sprint(i, ",")
			for _, reader := range []cutover.Stage{follow, forward, reverse} {
				r.open(reader).requireText(want, "%v, read at %v", stage, reader)
			}
			p.sweep(cfg)
			require.Zero(t, p.verify(cfg).Wrong())
			for _, c := range p.clients {
				if text, err := c.Get(t.Context(), room.Name).Result(); err == nil && text != want {
					stale++
				}
			}
			sleep(20 * time.Second)
		}
		assert.Positive(t, stale)
	})
}
