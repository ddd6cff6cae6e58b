package cutover_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/rmw"
)

var drained = cutover.Stage{Phase: cutover.Copying, Percent: 100, Epoch: 7}

// closedAt sweeps twice and verifies. It returns the conditions of the next step that are not open, with
// their measurements.
func (r *rig) closedAt(present cutover.Stage, cfg cutover.SweepConfig) map[string]string {
	e := cutover.Evidence{Census: []cutover.Process{{Name: "a", Epoch: present.Epoch}}}
	p := r.open(present)
	for range 2 {
		pass, err := p.Sweep(r.t.Context(), cfg)
		require.NoError(r.t, err)
		e.Passes = append(e.Passes, pass)
	}
	report, err := p.Verify(r.t.Context(), cfg)
	require.NoError(r.t, err)
	e.Reports = append(e.Reports, report)
	closed := map[string]string{}
	for _, g := range cutover.Ready(present, cutover.Stage{Phase: cutover.Complete}, e) {
		if g.State != cutover.GateOpen {
			closed[g.Name] = g.Have
		}
	}
	return closed
}

// leftovers are names with a marker in the new store whose key has expired in the old one.
var leftovers = map[string]func(t *testing.T, r *rig){
	"the key was sent back": func(t *testing.T, r *rig) {
		for _, stage := range []cutover.Stage{forward, reverse} {
			r.swept(stage, r.sweep(16))
		}
	},
	"a process stopped after its reservation": func(_ *testing.T, r *rig) { r.stopAt(forward, "seal") },
}

// withLeftover calls test with a leftover of the key room.
func withLeftover(t *testing.T, test func(t *testing.T, r *rig)) {
	for name, leave := range leftovers {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				require.NoError(t, update(set(rmw.String("v").WithTTL(time.Minute)))(r.open(follow)))
				leave(t, r)
				require.Equal(t, [2]string{"string", "list"}, r.where(room.Name))
				sleep(2 * time.Minute)
				require.Equal(t, [2]string{"none", "list"}, r.where(room.Name))
				test(t, r)
			})
		})
	}
}

// requireServes updates the key as a process at Complete does, and as one without this package.
func (r *rig) requireServes(key rmw.Key) {
	_, err := r.direct().sides[1].(rmw.Store).Update(r.t.Context(), key, add("x"))
	require.NoError(r.t, err)
	_, err = r.open(cutover.Stage{Phase: cutover.Complete}).Update(r.t.Context(), key, add("y"))
	require.NoError(r.t, err)
}

// A sweep over both stores removes markers whose key is gone, and Complete waits for it.
func TestMarkersOfExpiredKeysAreRemoved(t *testing.T) {
	withLeftover(t, func(t *testing.T, r *rig) {
		report := r.verify(16)
		assert.Equal(t, cutover.Keys{Count: 1, Names: []string{room.Name}}, report.Leftover)
		assert.Zero(t, report.Wrong())
		for _, stage := range []cutover.Stage{follow, reverse, {Phase: cutover.Copying, Percent: 100, Freeze: true}} {
			pass := r.swept(stage, r.both(16))
			assert.Zero(t, pass.Freed, stage)
		}
		assert.Empty(t, r.closedAt(drained, r.both(16)))
		r.requireServes(room)
	})
}

// Negative control: a sweep over the old store leaves the marker, the gates say so, and the key is blocked.
func TestMarkersOfExpiredKeysStayWithoutTheNewMasters(t *testing.T) {
	withLeftover(t, func(t *testing.T, r *rig) {
		assert.Equal(t, map[string]string{"verify: new masters missed": "1"}, r.closedAt(drained, r.sweep(16)))
		_, err := r.direct().sides[1].(rmw.Store).Update(t.Context(), room, add("x"))
		require.ErrorIs(t, err, rmw.ErrWrongKind)
	})
}

// A process that stops just before Complete leaves a marker as well. A sweep at Complete removes it, and the
// removal of this package waits for that.
func TestMarkersAreRemovedAtComplete(t *testing.T) {
	complete := cutover.Stage{Phase: cutover.Complete, Epoch: 8}
	withLeftover(t, func(t *testing.T, r *rig) {
		r.swept(complete, r.sweep(16))
		report, err := r.open(complete).Verify(t.Context(), r.both(16))
		require.NoError(t, err)
		assert.Equal(t, 1, report.Leftover.Count)
		require.NoError(t, r.admin(1).RPush(t.Context(), "own", "a list that is no marker").Err())
		assert.Empty(t, r.closedAt(complete, r.both(16)))
		assert.Equal(t, "list", r.where("own")[1])
		r.requireServes(room)
	})
}

// A seal of a way back is executed after Complete. A sweep moves the value home, and loses nothing.
func TestSealAtComplete(t *testing.T) {
	complete := cutover.Stage{Phase: cutover.Complete, Epoch: 8}
	bubble(t, func(t *testing.T, r *rig) {
		require.NoError(t, update(add("x"))(r.open(forward)))
		p := r.open(complete)
		require.NoError(t, update(add("y"))(p))
		marker := r.admin(0).LIndex(t.Context(), room.Name, 2).Val()
		require.NoError(t, p.clients[1].Eval(t.Context(), markerScript, []string{room.Name}, "seal", "2.1", marker, 1000).Err())
		err := update(add("z"))(p)
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		require.ErrorContains(t, err, "a sweep with SweepConfig.NewMasters (-new-masters) removes it")
		assert.Empty(t, r.closedAt(complete, r.both(16)))
		requireText(t, p, "x,y,")
		r.requireServes(room)
	})
}

// A pass that leaves out a name does not count, unless the name is of another service.
func TestCompleteWaitsForEveryName(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.fill(20)
		require.NoError(t, r.admin(0).Set(t.Context(), "billing", "v", 0).Err())
		none, some, whole := r.both(16), r.both(16), r.both(16)
		none.Keys = func(string) (rmw.Key, bool) { return rmw.Key{}, false }
		some.Keys = func(name string) (rmw.Key, bool) { return rmw.Key{Label: "k"}, name[0] == 'k' }
		assert.Equal(t, map[string]string{"names left out": "21", "verify: names left out": "21"}, r.closedAt(drained, none))
		r.swept(drained, some)
		assert.Equal(t, map[string]string{"names left out": "1", "verify: names left out": "1"}, r.closedAt(drained, some))
		some.Foreign = func(name string) bool { return name == "billing" }
		assert.Empty(t, r.closedAt(drained, some))
		assert.Equal(t, [2]string{"string", "none"}, r.where("billing"))
		r.swept(drained, whole)
		assert.Empty(t, r.closedAt(drained, whole))
	})
}

// A pass of an empty store is whole.
func TestCompleteOfAnEmptyStore(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) { assert.Empty(t, r.closedAt(drained, r.both(16))) })
}

// A client of several servers knows how many a pass must scan.
func TestCompleteWaitsForEveryMaster(t *testing.T) {
	r := newRig(t)
	ring := redis.NewRing(&redis.RingOptions{
		Addrs:     map[string]string{"a": "0", "b": "1"},
		NewClient: func(o *redis.Options) *redis.Client { return redis.NewClient(r.proxies[o.Addr[0]-'0'].Options()) },
	})
	t.Cleanup(func() { require.NoError(t, ring.Close()) })
	p := r.open(drained)
	store := cutover.New(cutover.Side{Store: p.sides[0].(rmw.Store), Redis: ring},
		cutover.Side{Store: p.sides[1].(rmw.Store), Redis: p.clients[1]}, cutover.Config{Stage: drained})
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	pass, err := store.Sweep(t.Context(), r.sweep(16))
	require.NoError(t, err)
	assert.Equal(t, cutover.Scanned{Epoch: 7, Masters: 1, AllMasters: 2}, pass.Scanned)
}
