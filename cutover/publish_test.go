package cutover_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

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
	const moving = "half full labels frozen"
	stages := map[string]cutover.Stage{
		"follow": follow, "half": {Phase: cutover.Copying, Percent: 50}, "full": forward, "reverse": reverse,
		"labels":   {Phase: cutover.Copying, Percent: 100, Labels: []string{"room"}},
		"frozen":   {Phase: cutover.Copying, Percent: 100, Freeze: true},
		"complete": {Phase: cutover.Complete},
	}
	for from, legal := range map[string]string{
		"follow": "follow " + moving, "half": moving + " reverse", "full": moving + " reverse complete", "labels": moving + " reverse",
		"frozen": moving + " reverse", "reverse": moving + " reverse", "complete": "complete",
	} {
		for to, next := range stages {
			old, new := &place{}, &place{}
			want := stages[from]
			if want.Phase == cutover.Reverse || want.Phase == cutover.Complete {
				require.NoError(t, publish(t.Context(), old, new, forward))
			}
			require.NoError(t, publish(t.Context(), old, new, want))
			want.Epoch = uint64(old.writes)
			err := publish(t.Context(), old, new, next)
			if slices.Contains(strings.Fields(legal), to) {
				require.NoError(t, err, "%s to %s", from, to)
				epoch := want.Epoch + 1
				want = next
				want.Epoch = epoch
			} else {
				require.ErrorIs(t, err, rmw.ErrInvalid, "%s to %s", from, to)
				assert.Regexp(t, "from here it can go to: |publish copying with 100 percent", err.Error())
			}
			got, err := cutover.Current(t.Context(), "desk", old, new)
			require.NoError(t, err)
			assert.Equal(t, want, got)
			assert.Equal(t, old.document(), new.document())
		}
	}
	err := publish(t.Context(), &place{}, &place{}, reverse)
	assert.EqualError(t, err, "the stage was not published: invalid argument: the cut-over is at follow, and cannot go to reverse; "+
		"from here it can go to: follow, copying")
}

func TestPublishRefuses(t *testing.T) {
	ctx := t.Context()
	old, new := &place{}, &place{}
	require.ErrorIs(t, cutover.Publish(ctx, "", old, new, follow), rmw.ErrInvalid)
	_, err := cutover.Current(ctx, "", old, new)
	require.ErrorIs(t, err, rmw.ErrInvalid)
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
	err = cutover.Publish(ctx, "desk", old, new, cutover.Stage{Phase: cutover.Complete})
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
	ctx := t.Context()
	old, new := &place{}, &place{}
	require.NoError(t, publish(ctx, old, new, forward))
	freeze := forward
	freeze.Freeze = true
	refused := func(err error, text string) {
		t.Helper()
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		assert.ErrorContains(t, err, text)
	}

	new.fail(errDown)
	refused(publish(ctx, old, new, freeze), "in force, but not in the new store; publish it again")
	assert.Contains(t, old.document(), `"epoch":2,"stage":"copying","percent":100,"freeze":true`)
	refused(publish(ctx, old, new, forward), "in force")
	refused(cutover.Publish(ctx, "desk", old, new, cutover.Stage{Epoch: 3, Phase: cutover.Complete}, permitted...), "was not published")
	new.fail(nil)
	require.NoError(t, publish(ctx, old, new, forward))
	assert.Equal(t, old.document(), new.document())
	assert.Contains(t, new.document(), `"epoch":4`)

	old.fail(errDown)
	refused(publish(ctx, old, new, freeze), "was not published")
	assert.Contains(t, new.document(), `"epoch":4`)

	// The first stage of all needs both: the store that fails may have a greater epoch.
	first, down := &place{}, &place{err: errDown}
	refused(publish(ctx, first, down, forward), "was not published")
	assert.Zero(t, first.writes)
}

// Another call publishes before the first write of a call, or between both. The call fails, or takes the next epoch if
// it checks none.
func TestPublishIsOvertaken(t *testing.T) {
	for _, tc := range []struct {
		before int    // the write to this place
		epoch  uint64 // that the call checks
		want   string // the last stage
	}{{0, 1, "2 reverse"}, {1, 1, "3 reverse"}, {0, 0, "3 copying 70 %"}} {
		places := []*place{{}, {}}
		require.NoError(t, publish(t.Context(), places[0], places[1], forward))
		places[tc.before].before = func() {
			places[tc.before].before = nil
			require.NoError(t, publish(t.Context(), places[0], places[1], reverse))
		}
		next := cutover.Stage{Epoch: tc.epoch, Phase: cutover.Copying, Percent: 70}
		err := cutover.Publish(t.Context(), "desk", places[0], places[1], next)
		if tc.epoch == 0 {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, rmw.ErrContended)
			assert.NotContains(t, err.Error(), "in force")
		}
		got, err := cutover.Current(t.Context(), "desk", places[0], places[1])
		require.NoError(t, err)
		assert.Equal(t, tc.want, fmt.Sprintf("%d %v", got.Epoch, got))
		assert.Equal(t, places[0].document(), places[1].document())
	}
}
