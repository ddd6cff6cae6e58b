package cutover_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/rmw"
)

// permitted are the conditions that every step needs.
var permitted = []operate.Gate{
	{Name: "own keys, new", State: operate.GateOpen}, {Name: "verify", State: operate.GateOpen},
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
	return operate.Publish(ctx, "desk", old, new, stage, permitted...)
}

// pair is the old and the new store of a cut-over.
type pair [2]*place

func newPair() pair { return pair{{}, {}} }

func (p pair) publish(t *testing.T, stage cutover.Stage) error {
	return publish(t.Context(), p[0], p[1], stage)
}

// require requires the published stage, with its epoch, in both stores.
func (p pair) require(t *testing.T, want cutover.Stage) {
	t.Helper()
	got, err := cutover.Current(t.Context(), "desk", p[0], p[1])
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, p[0].document(), p[1].document())
}

func TestPublishTakesLegalStepsOnly(t *testing.T) {
	const moving = "half full labels frozen"
	stages := map[string]cutover.Stage{
		"follow": follow, "half": {Phase: cutover.Copying, Percent: 50}, "full": forward, "reverse": reverse,
		"labels": {Phase: cutover.Copying, Percent: 100, Labels: []string{"room"}},
		"frozen": frozen(forward), "complete": complete,
	}
	for from, legal := range map[string]string{
		"follow": "follow " + moving, "half": moving + " reverse", "full": moving + " reverse complete", "labels": moving + " reverse",
		"frozen": moving + " reverse", "reverse": moving + " reverse", "complete": "complete",
	} {
		for to, next := range stages {
			p, present := newPair(), stages[from]
			if present.Phase == cutover.Reverse || present.Phase == cutover.Complete {
				require.NoError(t, p.publish(t, forward))
			}
			require.NoError(t, p.publish(t, present))
			now, err := cutover.Current(t.Context(), "desk", p[0], p[1])
			require.NoError(t, err)
			epoch, change := now.Epoch, uint64(1)
			if from == to && epoch > 0 {
				change = 0
			}
			err = p.publish(t, next)
			if slices.Contains(strings.Fields(legal), to) {
				require.NoError(t, err, "%s to %s", from, to)
				p.require(t, at(epoch+change, next))
			} else {
				require.ErrorIs(t, err, rmw.ErrInvalid, "%s to %s", from, to)
				assert.Regexp(t, "from here it can go to: |publish copying with 100 percent", err.Error())
				p.require(t, at(epoch, present))
			}
		}
	}
	assert.EqualError(t, newPair().publish(t, reverse), "the stage was not published: invalid argument: the cut-over is at follow, "+
		"and cannot go to reverse; from here it can go to: follow, copying")
}

func TestPublishRefuses(t *testing.T) {
	ctx, p := t.Context(), newPair()
	require.ErrorIs(t, operate.Publish(ctx, "", p[0], p[1], follow), rmw.ErrInvalid)
	_, err := cutover.Current(ctx, "", p[0], p[1])
	require.ErrorIs(t, err, rmw.ErrInvalid)
	require.ErrorIs(t, p.publish(t, cutover.Stage{Percent: 101}), rmw.ErrInvalid)
	for _, stage := range []cutover.Stage{forward, reverse, forward} {
		require.NoError(t, p.publish(t, stage))
	}
	// A decision that is based on the first forward stage.
	for _, s := range []cutover.Stage{at(1, complete), {Epoch: 1, Phase: cutover.Copying}} {
		err := operate.Publish(ctx, "desk", p[0], p[1], s)
		require.ErrorIs(t, err, rmw.ErrContended)
		assert.ErrorContains(t, err, "epoch 3 was published since epoch 1 was read")
	}
	err = operate.Publish(ctx, "desk", p[0], p[1], complete)
	require.ErrorIs(t, err, rmw.ErrInvalid)
	assert.ErrorContains(t, err, "needs the Epoch")

	for _, text := range []string{`{"version":2,"epoch":9}`, "oops", "{}"} {
		for i := range 2 {
			broken := newPair()
			broken[i].become(text)
			require.ErrorIs(t, broken.publish(t, forward), rmw.ErrInvalid)
			assert.Zero(t, broken[0].writes+broken[1].writes)
		}
	}
}

// Publish refuses the first move and the last one without their conditions, and with one that is closed.
func TestPublishNeedsGates(t *testing.T) {
	const own, verify = "own keys, new", "verify"
	last := at(1, complete)
	for name, tc := range map[string]struct {
		present, next cutover.Stage
		gates         []operate.Gate
		want          string // of the error
	}{
		"first, no gates": {follow, forward, nil, `needs the condition "own keys, new": run operate.Preflight with SweepConfig.NewMasters`},
		"first, closed": {follow, forward,
			[]operate.Gate{{Name: own, Have: "1", Need: "0", Do: "delete them", Names: []string{"room"}, State: operate.GateClosed}},
			`"own keys, new" is not ready: have 1, need 0: delete them, such as room`},
		"first, another closed": {follow, forward,
			[]operate.Gate{permitted[0], {Name: "two homes", State: operate.GateClosed}}, `"two homes" is not ready`},
		"first, unreadable": {follow, forward, []operate.Gate{permitted[0], {Name: "eviction, new", State: operate.GateUnknown}}, ""},
		"last, no gates":    {forward, last, nil, `needs the condition "verify"`},
		"last, other gates": {forward, last, permitted[:1], `needs the condition "verify"`},
		"last, unverified":  {forward, last, []operate.Gate{{Name: verify, State: operate.GateUnknown}}, `"verify" is not enough data`},
		"last":              {forward, last, permitted, ""},
		"back":              {forward, reverse, nil, ""},
		"more":              {forward, forward, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair()
			require.NoError(t, p.publish(t, tc.present))
			err := operate.Publish(t.Context(), "desk", p[0], p[1], tc.next, tc.gates...)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, rmw.ErrInvalid)
			require.ErrorContains(t, err, tc.want)
			p.require(t, at(1, tc.present))
		})
	}
}

// The epoch grows although one of the stores has lost its document.
func TestEpochGrowsWithoutOneDocument(t *testing.T) {
	for i := range 2 {
		p := newPair()
		for _, stage := range []cutover.Stage{forward, reverse, forward} {
			require.NoError(t, p.publish(t, stage))
		}
		p[i].become("")
		require.ErrorIs(t, p.publish(t, follow), rmw.ErrInvalid, "the last stage is known")
		require.NoError(t, p.publish(t, reverse))
		p.require(t, at(4, reverse))
	}
}

func TestPublishWhileOneStoreFails(t *testing.T) {
	p := newPair()
	require.NoError(t, p.publish(t, forward))
	refused := func(err error, text string) {
		t.Helper()
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		assert.ErrorContains(t, err, text)
	}
	p[1].become(down)
	refused(p.publish(t, frozen(forward)), "in force, but not in the new store; publish it again")
	assert.Contains(t, p[0].document(), `"epoch":2,"stage":"copying","percent":100,"freeze":true`)
	refused(p.publish(t, forward), "in force")
	refused(operate.Publish(t.Context(), "desk", p[0], p[1], at(3, complete), permitted...), "was not published")
	p[1].become(up)
	require.NoError(t, p.publish(t, forward))
	p.require(t, at(3, forward))

	p[0].become(down)
	refused(p.publish(t, reverse), "was not published")
	p[0].become(up)
	p.require(t, at(3, forward))

	// The first stage of all needs both: the store that fails may have a greater epoch.
	first := newPair()
	first[1].become(down)
	refused(first.publish(t, forward), "was not published")
	assert.Zero(t, first[0].writes)
}

// Another call publishes before the first write of a call, or between both. The call fails, or takes the next epoch if
// it checks none.
func TestPublishIsOvertaken(t *testing.T) {
	seventy := cutover.Stage{Phase: cutover.Copying, Percent: 70}
	for _, tc := range []struct {
		before int    // the write to this place
		epoch  uint64 // that the call checks
		last   cutover.Stage
	}{{0, 1, at(2, reverse)}, {1, 1, at(3, reverse)}, {0, 0, at(3, seventy)}} {
		p := newPair()
		require.NoError(t, p.publish(t, forward))
		written := p[tc.before]
		written.before = func() {
			written.before = nil
			require.NoError(t, p.publish(t, reverse))
		}
		err := operate.Publish(t.Context(), "desk", p[0], p[1], at(tc.epoch, seventy))
		if tc.epoch == 0 {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, rmw.ErrContended)
			assert.NotContains(t, err.Error(), "in force")
		}
		p.require(t, tc.last)
	}
}

// A stage that is published again keeps its epoch, and is written only where it is missing.
func TestPublishAgain(t *testing.T) {
	for i := range 2 {
		for name, broken := range map[string]string{"same": up, "lost": "", "older": doc(1, `"stage":"copying","percent":1`)} {
			p := newPair()
			require.NoError(t, p.publish(t, cutover.Stage{Phase: cutover.Copying, Percent: 1}))
			require.NoError(t, p.publish(t, frozen(forward)))
			p[i].become(broken)
			require.NoError(t, p.publish(t, frozen(forward)), name)
			p.require(t, at(2, frozen(forward)))
			require.NoError(t, operate.Publish(t.Context(), "desk", p[0], p[1], at(2, frozen(forward))))
			p.require(t, at(2, frozen(forward)))
		}
	}
	// A Complete that reached one store only needs no gates to reach the other one.
	p := newPair()
	require.NoError(t, p.publish(t, forward))
	half := p[1].document()
	require.NoError(t, p.publish(t, complete))
	p[1].become(half)
	require.NoError(t, operate.Publish(t.Context(), "desk", p[0], p[1], at(2, complete)))
	p.require(t, at(2, complete))
}

// A freeze works without the old store: processes follow the new store's document, also if the old store has a later
// stage that the new one has missed. Afterwards the same freeze is written into the old store, with its epoch.
func TestFreezeWithoutTheOldStore(t *testing.T) {
	for name, away := range map[string]string{"down": down, "hangs": hangs} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPair()
				require.NoError(t, p.publish(t, forward))
				p[1].become(down)
				require.ErrorContains(t, p.publish(t, reverse), "in force")
				require.ErrorContains(t, p.publish(t, forward), "in force")
				p[1].become(up)
				poller := poll(t, p[0], p[1])
				nextPoll()
				p[0].become(away)
				began := time.Now()
				for range 2 {
					err := p.publish(t, frozen(forward))
					require.ErrorContains(t, err, "stage copying 100 %, frozen is published with epoch 101 in the new store, and in force, "+
						"but not in the old store; publish it again")
				}
				assert.Less(t, time.Since(began), 9*time.Second)
				less := cutover.Stage{Phase: cutover.Copying, Percent: 9}
				for _, other := range []cutover.Stage{forward, frozen(reverse), frozen(less), complete} {
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					err := publish(ctx, p[0], p[1], other)
					cancel()
					require.Error(t, err)
					assert.NotContains(t, err.Error(), "in force", "only Freeze may change")
				}
				nextPoll()
				stage, err := poller.Stage(t.Context())
				require.NoError(t, err)
				assert.Equal(t, at(101, frozen(forward)), stage)
				p[0].become(up)
				nextPoll()
				stage, err = poller.Stage(t.Context())
				require.NoError(t, err)
				assert.Equal(t, at(101, frozen(forward)), stage)
				require.NoError(t, p.publish(t, frozen(forward)))
				p.require(t, at(101, frozen(forward)))
				require.NoError(t, p.publish(t, forward))
				p.require(t, at(102, forward))
			})
		})
	}
}

// The old store takes a stage, and is away for a freeze before the new store has that stage. The freeze counts, and
// the other call fails. A Complete, too, has no effect then.
func TestFreezeOvertakesAPublish(t *testing.T) {
	for _, stage := range []cutover.Stage{reverse, complete} {
		p := newPair()
		require.NoError(t, p.publish(t, forward))
		p[1].before = func() {
			p[1].before = nil
			p[0].become(down)
			require.ErrorContains(t, p.publish(t, frozen(forward)), "in the new store, and in force")
			p[0].become(up)
		}
		require.ErrorIs(t, p.publish(t, stage), rmw.ErrContended)
		for range 2 {
			synctest.Test(t, func(t *testing.T) {
				got, err := poll(t, p[0], p[1]).Stage(t.Context())
				require.NoError(t, err)
				assert.Equal(t, at(101, frozen(forward)), got)
			})
			require.NoError(t, p.publish(t, frozen(forward)))
			p.require(t, at(101, frozen(forward)))
		}
	}
	// A freeze that is based on a stage before the present one.
	p := newPair()
	require.NoError(t, p.publish(t, forward))
	require.NoError(t, p.publish(t, reverse))
	p[0].become(down)
	require.ErrorIs(t, operate.Publish(t.Context(), "desk", p[0], p[1], at(1, frozen(forward))), rmw.ErrContended)
}
