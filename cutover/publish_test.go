package cutover_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/rmw"
)

// permitted are the conditions that every step needs.
var permitted = []cutover.Gate{
	{Name: "own keys, new", State: cutover.GateOpen}, {Name: "verify", State: cutover.GateOpen},
}

// publish publishes a stage without a check of the epoch, except for Complete.
func publish(ctx context.Context, old, new rmw.Store, stage cutover.Stage) error {
	if stage.Phase == cutover.Complete {
		now, err := cutover.Current(ctx, "desk", old, new)
		if err != nil {
			return err
		}
		stage.Epoch = now.Epoch
	}
	return cutover.Publish(ctx, "desk", old, new, stage, permitted...)
}

func TestPublishTakesLegalStepsOnly(t *testing.T) {
	full := cutover.Stage{Phase: cutover.Copying, Percent: 100}
	half := cutover.Stage{Phase: cutover.Copying, Percent: 50}
	labels := cutover.Stage{Phase: cutover.Copying, Percent: 100, Labels: []string{"room"}}
	frozen := cutover.Stage{Phase: cutover.Copying, Percent: 100, Freeze: true}
	complete := cutover.Stage{Phase: cutover.Complete}
	all := []cutover.Stage{follow, half, full, labels, frozen, reverse, complete}
	path := map[string][]cutover.Stage{ // to each stage
		"follow": {follow}, "half": {half}, "full": {full}, "labels": {labels}, "frozen": {frozen},
		"reverse": {full, reverse}, "complete": {full, complete},
	}
	legal := map[string][]cutover.Stage{
		"follow":   {follow, half, full, labels, frozen},
		"half":     {half, full, labels, frozen, reverse},
		"full":     {half, full, labels, frozen, reverse, complete},
		"labels":   {half, full, labels, frozen, reverse},
		"frozen":   {half, full, labels, frozen, reverse},
		"reverse":  {half, full, labels, frozen, reverse},
		"complete": {complete},
	}
	for from, steps := range path {
		for _, to := range all {
			old, new := &place{}, &place{}
			for _, s := range steps {
				require.NoError(t, publish(t.Context(), old, new, s))
			}
			err := publish(t.Context(), old, new, to)
			got, readErr := cutover.Current(t.Context(), "desk", old, new)
			require.NoError(t, readErr)
			want, epoch := to, uint64(len(steps)+1)
			if contains(legal[from], to) {
				require.NoError(t, err, "%s to %+v", from, to)
			} else {
				require.ErrorIs(t, err, rmw.ErrInvalid, "%s to %+v", from, to)
				assert.Regexp(t, "from here it can go to: |publish copying with 100 percent", err.Error())
				want, epoch = steps[len(steps)-1], epoch-1
			}
			want.Epoch = epoch
			assert.Equal(t, want, got)
			assert.Equal(t, old.document(), new.document())
		}
	}
	err := publish(t.Context(), &place{}, &place{}, reverse)
	assert.EqualError(t, err, "the stage was not published: invalid argument: the cut-over is at follow, and cannot go to reverse; "+
		"from here it can go to: follow, copying")
}

func contains(stages []cutover.Stage, s cutover.Stage) bool {
	for _, one := range stages {
		if assert.ObjectsAreEqual(one, s) {
			return true
		}
	}
	return false
}

func TestPublishRefuses(t *testing.T) {
	ctx := t.Context()
	old, new := &place{}, &place{}
	require.ErrorIs(t, cutover.Publish(ctx, "", old, new, follow), rmw.ErrInvalid)
	require.ErrorIs(t, cutover.Publish(ctx, "desk", old, new, cutover.Stage{Percent: 101}), rmw.ErrInvalid)
	require.NoError(t, publish(ctx, old, new, forward))
	require.NoError(t, publish(ctx, old, new, reverse))
	require.NoError(t, publish(ctx, old, new, forward))

	// A decision that is based on the first forward stage.
	for _, s := range []cutover.Stage{{Epoch: 1, Phase: cutover.Complete}, {Epoch: 1, Phase: cutover.Copying}} {
		err := cutover.Publish(ctx, "desk", old, new, s)
		require.ErrorIs(t, err, rmw.ErrContended)
		assert.ErrorContains(t, err, "epoch 3 was published since epoch 1 was read")
	}
	err := cutover.Publish(ctx, "desk", old, new, cutover.Stage{Phase: cutover.Complete})
	require.ErrorIs(t, err, rmw.ErrInvalid)
	assert.ErrorContains(t, err, "needs the Epoch")

	for _, text := range []string{`{"version":2,"epoch":9}`, "oops", "{}"} {
		for i := range 2 {
			broken := []*place{{}, {}}
			broken[i].set(text)
			require.ErrorIs(t, publish(ctx, broken[0], broken[1], forward), rmw.ErrInvalid)
			assert.Zero(t, broken[0].writes+broken[1].writes)
		}
	}
}

// Publish refuses the first move and the last one without their conditions, and with one that is closed.
func TestPublishNeedsGates(t *testing.T) {
	const own, verify = "own keys, new", "verify"
	complete := cutover.Stage{Epoch: 1, Phase: cutover.Complete}
	for name, tc := range map[string]struct {
		present, next cutover.Stage
		gates         []cutover.Gate
		want          string // of the error
	}{
		"first, no gates": {follow, forward, nil, `needs the condition "own keys, new": run Store.Preflight with SweepConfig.NewMasters`},
		"first, closed": {follow, forward,
			[]cutover.Gate{{Name: own, Have: "1", Need: "0", Do: "delete them: room", State: cutover.GateClosed}},
			`"own keys, new" is not ready: have 1, need 0: delete them: room`},
		"first, another closed": {follow, forward,
			[]cutover.Gate{permitted[0], {Name: "two homes", State: cutover.GateClosed}}, `"two homes" is not ready`},
		"first, unreadable": {follow, forward, []cutover.Gate{permitted[0], {Name: "eviction, new", State: cutover.GateUnknown}}, ""},
		"last, no gates":    {forward, complete, nil, `needs the condition "verify"`},
		"last, other gates": {forward, complete, permitted[:1], `needs the condition "verify"`},
		"last, unverified":  {forward, complete, []cutover.Gate{{Name: verify, State: cutover.GateUnknown}}, `"verify" is not enough data`},
		"last":              {forward, complete, permitted, ""},
		"back":              {forward, reverse, nil, ""},
		"more":              {forward, forward, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			old, new := &place{}, &place{}
			require.NoError(t, publish(t.Context(), old, new, tc.present))
			before := old.document()
			err := cutover.Publish(t.Context(), "desk", old, new, tc.next, tc.gates...)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, rmw.ErrInvalid)
			require.ErrorContains(t, err, tc.want)
			assert.Equal(t, before, old.document())
		})
	}
}

// The epoch grows although one of the stores has lost its document.
func TestEpochGrowsWithoutOneDocument(t *testing.T) {
	for i := range 2 {
		places := []*place{{}, {}}
		for range 3 {
			require.NoError(t, publish(t.Context(), places[0], places[1], forward))
		}
		places[i].put(stageKey, rmw.Value{})
		require.ErrorIs(t, publish(t.Context(), places[0], places[1], follow), rmw.ErrInvalid, "the last stage is known")
		require.NoError(t, publish(t.Context(), places[0], places[1], reverse))
		got, err := cutover.Current(t.Context(), "desk", places[0], places[1])
		require.NoError(t, err)
		assert.EqualValues(t, 4, got.Epoch)
		assert.Equal(t, places[0].document(), places[1].document())
	}
}

func TestPublishWhileOneStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		old, new := &place{}, &place{}
		require.NoError(t, publish(ctx, old, new, forward))
		freeze := forward
		freeze.Freeze = true

		new.fail(errDown)
		p := poll(t, old, new)
		err := publish(ctx, old, new, freeze)
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		assert.ErrorContains(t, err, "in force, but not in the new store; publish it again")
		nextPoll()
		got, err := p.Stage(ctx)
		require.NoError(t, err)
		assert.True(t, got.Freeze)
		require.NoError(t, publish2(old, new, forward), "unfrozen, in the old store only")
		complete := cutover.Stage{Epoch: 3, Phase: cutover.Complete}
		err = cutover.Publish(ctx, "desk", old, new, complete)
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		assert.ErrorContains(t, err, "was not published")
		new.fail(nil)
		require.NoError(t, publish(ctx, old, new, forward))
		assert.Equal(t, old.document(), new.document())
		assert.Contains(t, new.document(), `"epoch":4`)

		old.fail(errDown)
		err = publish(ctx, old, new, freeze)
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		assert.ErrorContains(t, err, "was not published")
		assert.Contains(t, new.document(), `"epoch":4`)

		// The first stage of all needs both: the store that fails may have a greater epoch.
		first, down := &place{}, &place{err: errDown}
		require.ErrorIs(t, publish(ctx, first, down, forward), rmw.ErrUnavailable)
		assert.Zero(t, first.writes)
	})
}

// publish2 publishes while the new store fails.
func publish2(old, new *place, stage cutover.Stage) error {
	if err := publish(context.Background(), old, new, stage); err == nil {
		return fmt.Errorf("the new store has not failed")
	}
	_, err := cutover.Current(context.Background(), "desk", old, old)
	return err
}

// Concurrent calls publish different epochs. Processes see the epochs in order, from either store.
func TestConcurrentPublish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var mu sync.Mutex
		stages := map[uint64]int{} // Percent, by epoch
		var wg sync.WaitGroup
		done := make(chan struct{})
		for range 3 {
			a := r.open(follow)
			old, new := a.sides[0].(rmw.Store), a.sides[1].(rmw.Store)
			p := cutover.FromKey("desk", old, new)
			t.Cleanup(func() { require.NoError(t, p.Close()) })
			wg.Go(func() {
				last := uint64(0)
				for {
					select {
					case <-done:
						return
					case <-time.After(10 * time.Millisecond):
					}
					got, err := p.Stage(t.Context())
					require.NoError(t, err)
					assert.GreaterOrEqual(t, got.Epoch, last)
					last = got.Epoch
					mu.Lock()
					if percent, seen := stages[last]; seen {
						assert.Equal(t, percent, got.Percent)
					}
					stages[last] = got.Percent
					mu.Unlock()
				}
			})
		}
		var publishers sync.WaitGroup
		published, contended := 0, 0
		for i := range 3 {
			a := r.open(follow)
			publishers.Go(func() {
				for n := range 30 {
					time.Sleep(time.Duration(1+(i*7+n*13)%500) * time.Millisecond)
					err := cutover.Publish(t.Context(), "desk", a.sides[0].(rmw.Store), a.sides[1].(rmw.Store),
						cutover.Stage{Phase: cutover.Copying, Percent: i*33 + n}, permitted...)
					mu.Lock()
					if err == nil {
						published++
					} else {
						assert.ErrorIs(t, err, rmw.ErrContended)
						contended++
					}
					mu.Unlock()
				}
			})
		}
		publishers.Wait()
		nextPoll()
		close(done)
		wg.Wait()
		a := r.open(follow)
		got, err := cutover.Current(t.Context(), "desk", a.sides[0].(rmw.Store), a.sides[1].(rmw.Store))
		require.NoError(t, err)
		assert.EqualValues(t, 90, got.Epoch, "each call has an epoch")
		assert.Equal(t, 90, published+contended)
		assert.Positive(t, published)
	})
}

// A call that is overtaken before its first write gets the next epoch, if it checks none.
func TestOvertakenPublishGetsTheNextEpoch(t *testing.T) {
	old, new := &place{}, &place{}
	require.NoError(t, publish(t.Context(), old, new, forward))
	old.before = func() {
		old.before = nil
		require.NoError(t, publish(t.Context(), old, new, reverse))
	}
	require.NoError(t, publish(t.Context(), old, new, forward))
	assert.Contains(t, old.document(), `"epoch":3,"stage":"copying"`)
	assert.Equal(t, old.document(), new.document())
}

// Another call publishes after each step of a call.
func TestPublishIsOvertaken(t *testing.T) {
	for i := range 2 {
		places := []*place{{}, {}}
		require.NoError(t, publish(t.Context(), places[0], places[1], forward))
		places[i].before = func() {
			places[i].before = nil
			require.NoError(t, publish(t.Context(), places[0], places[1], reverse))
		}
		err := cutover.Publish(t.Context(), "desk", places[0], places[1], cutover.Stage{Epoch: 1, Phase: cutover.Copying, Percent: 70})
		require.ErrorIs(t, err, rmw.ErrContended)
		assert.NotContains(t, err.Error(), "in force")
		got, err := cutover.Current(t.Context(), "desk", places[0], places[1])
		require.NoError(t, err)
		assert.Equal(t, cutover.Reverse, got.Phase)
		assert.Equal(t, places[0].document(), places[1].document())
	}
}

// The keys of a Store move as the published stage says.
func TestStoreFollowsThePublishedStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		admin := r.open(follow)
		old, new := admin.sides[0].(rmw.Store), admin.sides[1].(rmw.Store)
		source := cutover.FromKey("desk", old, new)
		t.Cleanup(func() { require.NoError(t, source.Close()) })
		p := r.open(source)
		for i, tc := range []struct {
			stage cutover.Stage
			where [2]string
		}{
			{follow, [2]string{"string", "none"}},
			{cutover.Stage{Phase: cutover.Copying, Percent: 100, Labels: []string{"visitor"}}, [2]string{"string", "none"}},
			{forward, [2]string{"list", "string"}},
			{cutover.Stage{Phase: cutover.Reverse, Freeze: true}, [2]string{"list", "string"}},
			{reverse, [2]string{"string", "list"}},
			{forward, [2]string{"list", "string"}},
			{cutover.Stage{Phase: cutover.Complete}, [2]string{"list", "string"}},
		} {
			require.NoError(t, publish(t.Context(), old, new, tc.stage))
			nextPoll()
			_, err := p.Update(t.Context(), room, add(fmt.Sprint(i)))
			require.NoError(t, err)
			synctest.Wait()
			assert.Equal(t, tc.where, r.where(room.Name), "after %v", tc.stage)
		}
		v, err := p.Read(t.Context(), room)
		require.NoError(t, err)
		assert.Equal(t, "0,1,2,3,4,5,6,", v.Text())
	})
}

// A process sends one command a second to each store for the stage, and a heartbeat to the old one
// every 20 seconds.
func TestCommandsOfAPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a := r.open(follow)
		old, new := a.sides[0].(rmw.Store), a.sides[1].(rmw.Store)
		source := cutover.FromKey("desk", old, new)
		h := beat(t, old, source)
		nextPoll()
		for _, p := range r.proxies {
			p.ResetCalls()
		}
		time.Sleep(100 * time.Second)
		assert.InDelta(t, 100+5*3, len(r.proxies[0].Calls()), 15)
		assert.InDelta(t, 100, len(r.proxies[1].Calls()), 10)
		require.NoError(t, h.Close())
		require.NoError(t, source.Close())
	})
}

// Complete is no hint: a process at Follow creates a key in the old store, where no process at
// Complete finds it. A process that moves every key, with any age of its stage, does not.
func TestCompleteNeedsEveryProcess(t *testing.T) {
	for name, tc := range map[string]struct {
		late cutover.Stage
		lost bool
	}{
		"copying 100 percent": {forward, false},
		"control: follow":     {follow, true},
		"control: 0 percent":  {cutover.Stage{Phase: cutover.Copying}, true},
		"control: frozen":     {cutover.Stage{Phase: cutover.Copying, Percent: 100, Freeze: true}, true},
		"control: labels":     {cutover.Stage{Phase: cutover.Copying, Percent: 100, Labels: []string{"other"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				_, err := r.open(tc.late).Update(t.Context(), room, add("late"))
				require.NoError(t, err)
				v, err := r.open(cutover.Stage{Phase: cutover.Complete}).Read(t.Context(), room)
				require.NoError(t, err)
				assert.Equal(t, tc.lost, v.Text() != "late,")
			})
		})
	}
}
