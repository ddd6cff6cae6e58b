package openfeature_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	of "github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/isolated"
	"github.com/open-feature/go-sdk/openfeature/memprovider"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/adapters/openfeature"
	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

type object = map[string]any

// answer returns the provider's result of an evaluation.
type answer func(flat of.FlattenedContext) (any, of.ProviderResolutionDetail)

func value(v any) answer {
	return func(of.FlattenedContext) (any, of.ProviderResolutionDetail) {
		return v, of.ProviderResolutionDetail{Reason: of.StaticReason}
	}
}

// flags returns the flag "move" with an answer, for the in-memory provider.
func flags(a answer) map[string]memprovider.InMemoryFlag {
	f := func(_ memprovider.InMemoryFlag, flat of.FlattenedContext) (any, of.ProviderResolutionDetail) {
		return a(flat)
	}
	return map[string]memprovider.InMemoryFlag{"move": {State: memprovider.Enabled, ContextEvaluator: &f}}
}

// client returns a client of an API of its own.
func client(t *testing.T, p of.FeatureProvider) *of.Client {
	api := isolated.NewAPI()
	require.NoError(t, api.SetProviderAndWait(t.Context(), p))
	t.Cleanup(func() { assert.NoError(t, api.Shutdown(context.Background())) })
	return api.NewClient()
}

// open starts a Source in a bubble of fake time.
func open(t *testing.T, p of.FeatureProvider) *openfeature.Source {
	ctx, end := context.WithCancel(t.Context())
	s := openfeature.New(ctx, client(t, p), "move")
	t.Cleanup(func() {
		end()
		time.Sleep(time.Hour) // some providers answer late
	})
	return s
}

func nextEvaluation() {
	time.Sleep(2 * time.Second)
	synctest.Wait()
}

func present(t *testing.T, s cutover.Source) cutover.Stage {
	t.Helper()
	stage, err := s.Stage(t.Context())
	require.NoError(t, err)
	return stage
}

func TestFlagGivesTheStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := memprovider.NewInMemoryProvider(flags(value(object{"stage": "copying", "percent": 5, "labels": []string{"room"}})))
		began := time.Now()
		s := open(t, p)
		assert.Equal(t, cutover.Stage{Phase: cutover.Copying, Percent: 5, Labels: []string{"room"}}, present(t, s),
			"a process begins at the stage of the flag")
		assert.Zero(t, time.Since(began))
		for _, tc := range []struct {
			object any
			want   cutover.Stage
		}{
			{object{"stage": "follow"}, cutover.Stage{}},
			{object{"stage": "reverse", "freeze": true}, cutover.Stage{Phase: cutover.Reverse, Freeze: true}},
			{object{"stage": "copying", "percent": 100.0, "labels": nil}, cutover.Stage{Phase: cutover.Copying, Percent: 100}},
			{object{"stage": "copying", "percent": int64(7)}, cutover.Stage{Phase: cutover.Copying, Percent: 7}},
			{object{"stage": "reverse", "labels": []any{"a"}}, cutover.Stage{Phase: cutover.Reverse, Labels: []string{"a"}}},
		} {
			p.UpdateFlags(flags(value(tc.object)))
			nextEvaluation()
			assert.Equal(t, tc.want, present(t, s))
			assert.NoError(t, s.Err())
		}
	})
}

// Every process asks with one targeting key, so that a percentage rule of the flag does not divide them.
func TestTargetingKeyIsTheFlag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := of.FlattenedContext{}
		c := client(t, memprovider.NewInMemoryProvider(flags(func(flat of.FlattenedContext) (any, of.ProviderResolutionDetail) {
			seen = flat
			return object{"stage": "follow"}, of.ProviderResolutionDetail{}
		})))
		c.SetEvaluationContext(of.NewEvaluationContext("host-7", object{"region": "north"}))
		ctx, end := context.WithCancel(t.Context())
		defer end()
		require.NoError(t, openfeature.New(ctx, c, "move").Err())
		assert.Equal(t, of.FlattenedContext{of.TargetingKey: "move", "region": "north"}, seen)
	})
}

func TestStageStaysBesideABadValue(t *testing.T) {
	for name, tc := range map[string]struct {
		answer answer
		err    string
	}{
		"unknown stage":     {value(object{"stage": "shadow"}), "use follow"},
		"no stage":          {value(object{"percent": 5}), `no member "stage"`},
		"nothing":           {value(nil), "incorrect type"},
		"typed nil":         {value((*object)(nil)), `no member "stage"`},
		"complete":          {value(object{"stage": "complete"}), "no flag completes"},
		"percent 101":       {value(object{"stage": "copying", "percent": 101}), "Percent is 101"},
		"percent -1":        {value(object{"stage": "copying", "percent": -1}), "Percent is -1"},
		"half a percent":    {value(object{"stage": "copying", "percent": 0.5}), "number 0.5"},
		"percent as a text": {value(object{"stage": "copying", "percent": "5"}), "string"},
		"no number":         {value(object{"stage": "copying", "percent": math.NaN()}), "NaN"},
		"labels as a text":  {value(object{"stage": "copying", "labels": "room"}), "string"},
		"misspelled member": {value(object{"stage": "copying", "precent": 5}), "precent"},
		"an epoch":          {value(object{"stage": "copying", "epoch": 9}), "epoch"},
		"text":              {value("copying"), "string"},
		"number":            {value(5), "number"},
		"list":              {value([]any{"copying", 5}), "array"},
		"cannot be encoded": {value(make(chan int)), "chan int"},
		"error":             {refuse, "flag server is down"},
		"panic":             {func(of.FlattenedContext) (any, of.ProviderResolutionDetail) { panic("bug") }, "panicked: bug"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := memprovider.NewInMemoryProvider(flags(tc.answer))
				s := open(t, p)
				assert.Zero(t, present(t, s), "follow")
				require.ErrorContains(t, s.Err(), tc.err)

				good := cutover.Stage{Phase: cutover.Copying, Percent: 5}
				p.UpdateFlags(flags(value(object{"stage": "copying", "percent": 5})))
				nextEvaluation()
				require.Equal(t, good, present(t, s))
				require.NoError(t, s.Err())
				p.UpdateFlags(flags(tc.answer))
				nextEvaluation()
				assert.Equal(t, good, present(t, s))
				assert.ErrorContains(t, s.Err(), tc.err)
				assert.ErrorContains(t, s.Err(), "move")
			})
		})
	}
}

func refuse(of.FlattenedContext) (any, of.ProviderResolutionDetail) {
	err := of.NewGeneralResolutionError("the flag server is down")
	return object{"stage": "reverse"}, of.ProviderResolutionDetail{ResolutionError: err}
}

// A disabled flag and a deleted one: the first is the operator's wish to stop, the second an error.
func TestDisabledFlagIsFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		enabled := flags(value(object{"stage": "copying", "percent": 5}))
		p := memprovider.NewInMemoryProvider(enabled)
		s := open(t, p)
		p.UpdateFlags(nil)
		nextEvaluation()
		assert.Equal(t, cutover.Copying, present(t, s).Phase)
		assert.ErrorContains(t, s.Err(), "not found")
		p.UpdateFlags(map[string]memprovider.InMemoryFlag{"move": {State: memprovider.Disabled}})
		nextEvaluation()
		assert.Zero(t, present(t, s))
		assert.NoError(t, s.Err())
	})
}

// slow is a provider that answers after a delay, or when the ctx of an evaluation ends.
type slow struct {
	*memprovider.InMemoryProvider

	delay       time.Duration
	ignoresCtx  bool
	evaluations int
}

func (p *slow) ObjectEvaluation(ctx context.Context, flag string, v any, flat of.FlattenedContext) of.InterfaceResolutionDetail {
	p.evaluations++
	if p.ignoresCtx {
		ctx = context.Background()
	}
	select {
	case <-time.After(p.delay):
		return p.InMemoryProvider.ObjectEvaluation(ctx, flag, v, flat)
	case <-ctx.Done():
		return of.InterfaceResolutionDetail{ProviderResolutionDetail: of.ProviderResolutionDetail{
			ResolutionError: of.NewGeneralResolutionError(ctx.Err().Error()),
		}}
	}
}

func TestSlowProviderDelaysOnlyTheStart(t *testing.T) {
	for _, ignoresCtx := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := &slow{memprovider.NewInMemoryProvider(flags(value(object{"stage": "reverse"}))), time.Minute, ignoresCtx, 0}
			began := time.Now()
			s := open(t, p)
			assert.Equal(t, time.Second, time.Since(began))
			assert.Zero(t, present(t, s))
			assert.Error(t, s.Err())
			assert.Equal(t, time.Second, time.Since(began), "Stage answers from memory")
			time.Sleep(2 * time.Minute)
			assert.Equal(t, ignoresCtx, present(t, s).Phase == cutover.Reverse)
		})
	}
}

// The bubble fails the test if a goroutine is left.
func TestGoroutineEndsWithCtx(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &slow{InMemoryProvider: memprovider.NewInMemoryProvider(flags(value(object{"stage": "reverse"})))}
		ctx, end := context.WithCancel(t.Context())
		c := client(t, p)
		s := openfeature.New(ctx, c, "move")
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.InDelta(t, 60, p.evaluations, 13, "once a second, give or take a fifth")
		end()
		synctest.Wait()
		last := p.evaluations
		p.UpdateFlags(flags(value(object{"stage": "follow"})))
		time.Sleep(time.Minute)
		assert.Equal(t, last, p.evaluations)
		assert.Equal(t, cutover.Reverse, present(t, s).Phase, "the stage in force stays")
		assert.NoError(t, s.Err())

		p.delay, p.ignoresCtx = time.Hour, true // the end comes during an evaluation
		ctx, end = context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, end)
		began := time.Now()
		s = openfeature.New(ctx, c, "move")
		assert.Equal(t, time.Millisecond, time.Since(began))
		time.Sleep(2 * time.Hour)
		assert.Zero(t, present(t, s))
		assert.ErrorContains(t, s.Err(), "not answered yet")
	})
}

func TestWithoutClientOrFlag(t *testing.T) {
	for _, s := range []*openfeature.Source{
		openfeature.New(t.Context(), nil, "move"),
		openfeature.New(t.Context(), (*of.Client)(nil), "move"),
		openfeature.New(t.Context(), client(t, memprovider.NewInMemoryProvider(nil)), ""),
	} {
		_, err := s.Stage(t.Context())
		assert.ErrorIs(t, err, rmw.ErrInvalid)
		assert.ErrorIs(t, s.Err(), rmw.ErrInvalid)
	}
}

// TestFlagCannotComplete: the heartbeat of a process with a flag has epoch 0, so an advance waits for it.
func TestFlagCannotComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, memprovider.NewInMemoryProvider(flags(value(object{"stage": "copying", "percent": 100}))))
		published := cutover.Stage{Epoch: 7, Phase: cutover.Copying, Percent: 100}
		for epoch, want := range map[uint64]cutover.GateState{present(t, s).Epoch: cutover.GateClosed, published.Epoch: cutover.GateOpen} {
			evidence := cutover.Evidence{Census: []cutover.Process{{Epoch: epoch}}}
			gates := cutover.Ready(published, cutover.Stage{Phase: cutover.Complete}, evidence)
			assert.Equal(t, "processes", gates[1].Name)
			assert.Equal(t, want, gates[1].State)
		}
	})
}

// Two processes whose flags disagree, at every update anew, lose none. Negative control: with complete,
// which a flag is refused, they do.
func TestDisagreeingFlagsLoseNothing(t *testing.T) {
	copying, reverse := cutover.Stage{Phase: cutover.Copying, Percent: 100}, cutover.Stage{Phase: cutover.Reverse}
	assert.Len(t, updates(t, [][2]cutover.Source{
		{flagged(t, "copying"), flagged(t, "reverse")},
		{flagged(t, "follow"), flagged(t, "copying")},
		{flagged(t, "reverse"), flagged(t, "follow")},
	}), 30)
	assert.Less(t, len(updates(t, [][2]cutover.Source{{cutover.Stage{Phase: cutover.Complete}, reverse}, {copying, reverse}})), 20)
}

// flagged returns a Source that has evaluated its flag once.
func flagged(t *testing.T, stage string) cutover.Source {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	s := openfeature.New(ctx, client(t, memprovider.NewInMemoryProvider(flags(value(object{"stage": stage, "percent": 100})))), "move")
	require.NoError(t, s.Err())
	return s
}

// updates has two processes append to one key by turns, five times for each pair of stages, and returns it.
func updates(t *testing.T, stages [][2]cutover.Source) string {
	var sides [2]cutover.Side
	for i, profile := range []*proxycompat.Profile{proxycompat.Redis(), proxycompat.Codis32()} {
		p, err := proxytest.Start(proxytest.Config{Profile: profile, InMemory: true})
		require.NoError(t, err)
		rdb := redis.NewClient(p.Options())
		store := lockupdate.New(rdb, lockupdate.Config{})
		t.Cleanup(func() { assert.NoError(t, errors.Join(store.Close(), rdb.Close(), p.Close())) })
		sides[i] = cutover.Side{Store: store, Redis: rdb}
	}
	last := ""
	for range 5 {
		for _, pair := range stages {
			for _, stage := range pair {
				process := cutover.New(sides[0], sides[1], cutover.Config{Stage: stage})
				res, err := process.Update(t.Context(), rmw.Key{Name: "visits"}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
					return rmw.String(cur.Text() + "x"), nil
				})
				require.NoError(t, errors.Join(err, process.Close()))
				last = res.After.Text()
			}
		}
	}
	return last
}
