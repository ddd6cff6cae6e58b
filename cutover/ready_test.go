package cutover_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

var (
	drained = at(7, forward)
	removed = at(8, complete)
)

func TestReady(t *testing.T) {
	type (
		evidence = operate.Evidence
		pass     = operate.Pass
		report   = operate.Report
		states   = map[string]operate.GateState // nil: all are open
	)
	closed := func(gate string) states { return states{gate: operate.GateClosed} }
	unknown := func(gates ...string) states {
		of := states{}
		for _, name := range gates {
			of[name] = operate.GateUnknown
		}
		return of
	}
	one, scanned := operate.Keys{Count: 1}, operate.Scanned{
		Cutover: "desk", Epoch: 7, Masters: 1, AllMasters: 1, NewMasters: 2, AllNewMasters: 2, Names: 23, Chosen: 20, Foreign: 3,
	}
	good := pass{Scanned: scanned, There: 20}
	// check calls change with evidence that opens all gates.
	check := func(name string, present, next cutover.Stage, change func(*evidence), want states) {
		t.Run(name, func(t *testing.T) {
			e := evidence{
				Name: "desk", Census: []operate.Process{{Name: "a", Epoch: 7}, {Name: "b", Epoch: 7}}, Passes: []pass{good, good},
				Reports: []report{{Scanned: scanned, Equal: 15, ChangedSince: 5}},
			}
			change(&e)
			var got states
			for _, g := range operate.Ready(present, next, e) {
				if g.State != operate.GateOpen {
					if got == nil {
						got = states{}
					}
					got[g.Name] = g.State
				}
				assert.Equal(t, g.State == operate.GateOpen, g.Do == "", g.Name)
				assert.NotEmpty(t, g.Have)
				assert.NotEmpty(t, g.Need)
			}
			assert.Equal(t, want, got)
		})
	}

	copying := func(percent int, labels ...string) cutover.Stage {
		return at(7, cutover.Stage{Phase: cutover.Copying, Percent: percent, Labels: labels})
	}
	none := func(*evidence) {}
	behind := func(e *evidence) { e.Census[1].Epoch = 6 }
	failing := func(e *evidence) { e.Census[1].Error = "the new store: down" }
	nobody := func(e *evidence) { e.Census = nil }
	unverified := func(e *evidence) { e.Reports = nil }
	between := func(other operate.Scanned) func(*evidence) { // two good passes
		return func(e *evidence) { e.Passes = []pass{good, {Scanned: other, There: 17, Moved: 3}, good} }
	}
	otherName, otherEpoch := scanned, scanned
	otherName.Cutover, otherEpoch.Epoch = "room", 6
	noPass := unknown("passes", "masters missed", "names left out", "open keys", "keys in transit", "keys too large",
		"keys of other types", "hashes with field expiries", "keys with two values")
	gates := []string{"verify", "verify: masters missed", "verify: new masters missed", "verify: names left out", "markers left over"}
	noVerifyAtComplete, noVerify := unknown(gates...), unknown(append(gates, "keys not moved", "wrong keys")...)
	for name, tc := range map[string]struct {
		present, next cutover.Stage
		change        func(*evidence)
		want          states
	}{
		"first keys":         {at(7, follow), copying(1), none, nil},
		"behind":             {at(7, follow), copying(1), behind, closed("processes")},
		"failing":            {at(7, follow), copying(1), failing, closed("errors")},
		"nobody":             {at(7, follow), copying(1), nobody, unknown("processes", "errors")},
		"more":               {copying(1), copying(2), behind, closed("processes")},
		"more labels":        {copying(1, "a"), copying(1, "a", "b"), behind, closed("processes")},
		"all labels":         {copying(1, "a"), copying(1), behind, closed("processes")},
		"fewer":              {copying(2), copying(1), behind, nil},
		"fewer labels":       {copying(1), copying(1, "a"), nobody, nil},
		"freeze":             {copying(2), frozen(forward), nobody, nil},
		"back":               {copying(2), reverse, nobody, nil},
		"forward again":      {at(7, reverse), copying(2), behind, closed("processes")},
		"forward again, all": {cutover.Stage{Phase: cutover.Reverse, Percent: 100, Epoch: 7}, forward, behind, closed("processes")},
		"illegal":            {at(7, follow), reverse, none, closed("step")},
		"complete":           {drained, complete, none, nil},
		"complete, behind":   {drained, complete, behind, closed("processes")},
		"complete, half":     {copying(50), complete, none, closed("step")},
		"one pass only":      {drained, complete, func(e *evidence) { e.Passes = e.Passes[1:] }, noPass},
		"open before":        {drained, complete, func(e *evidence) { e.Passes = []pass{{Scanned: scanned, Moved: 20}, good, good} }, nil},
		"another epoch":      {drained, complete, between(otherEpoch), noPass},
		"another cut-over":   {drained, complete, between(otherName), nil},
		"unverified":         {drained, complete, unverified, noVerify},
		"the last verify counts": {drained, complete, func(e *evidence) {
			e.Reports = append(e.Reports, report{Scanned: scanned, Equal: 20, TwoHomes: one})
		}, closed("wrong keys")},

		"remove":             {at(7, complete), complete, func(e *evidence) { e.Passes = nil }, nil},
		"remove, unverified": {at(7, complete), complete, unverified, noVerifyAtComplete},
		"remove, behind":     {at(7, complete), complete, behind, closed("processes")},
		"remove, left over":  {at(7, complete), complete, func(e *evidence) { e.Reports[0].Leftover = one }, closed("markers left over")},
		"remove, keys of Complete": {at(7, complete), complete, func(e *evidence) {
			e.Reports = []report{{Scanned: scanned, Equal: 14, ChangedSince: 5, Unmarked: one, Open: 1}}
		}, nil},
	} {
		check(name, tc.present, tc.next, tc.change, tc.want)
	}
	for name, tc := range map[string]struct {
		change func(*pass) // the last one before Complete
		want   states
	}{
		"at several epochs":   {func(p *pass) { p.Epoch = 0 }, noPass},
		"of another cut-over": {func(p *pass) { p.Cutover = "room" }, noPass},
		"without a master":    {func(p *pass) { p.AllMasters = 3 }, closed("masters missed")},
		"that did not end":    {func(p *pass) { p.Masters = 0 }, closed("masters missed")},
		"with a pattern":      {func(p *pass) { p.LeftOut, p.Names = one, 24 }, closed("names left out")},
		"that chose nothing":  {func(p *pass) { p.Chosen, p.There = 0, 0 }, closed("names left out")},
		"without its counts":  {func(p *pass) { p.There = 19 }, closed("names left out")},
		"open":                {func(p *pass) { p.There, p.Moved = 19, 1 }, closed("open keys")},
		"in transit":          {func(p *pass) { p.There, p.Completed = 19, 1 }, closed("keys in transit")},
		"too large":           {func(p *pass) { p.There, p.TooLarge = 19, one }, closed("keys too large")},
		"other types":         {func(p *pass) { p.There, p.OtherType = 19, one }, closed("keys of other types")},
		"field expiries":      {func(p *pass) { p.There, p.FieldExpiry = 19, one }, closed("hashes with field expiries")},
		"two values":          {func(p *pass) { p.There, p.Refused = 19, one }, closed("keys with two values")},
	} {
		check("a pass, "+name, drained, complete, func(e *evidence) { tc.change(&e.Passes[1]) }, tc.want)
	}
	for name, tc := range map[string]struct {
		change func(*report) // before Complete
		want   states
	}{
		"of another epoch":    {func(r *report) { r.Epoch = 6 }, noVerify},
		"of another cut-over": {func(r *report) { r.Cutover = "room" }, noVerify},
		"in part":             {func(r *report) { r.LeftOut, r.Names = one, 24 }, closed("verify: names left out")},
		"without a master":    {func(r *report) { r.Masters = 0 }, closed("verify: masters missed")},
		"of the old store":    {func(r *report) { r.NewMasters, r.AllNewMasters = 0, 0 }, closed("verify: new masters missed")},
		"left over":           {func(r *report) { r.Leftover = one }, closed("markers left over")},
		"a key came back":     {func(r *report) { r.Equal, r.Open = 14, 1 }, closed("keys not moved")},
	} {
		check("a verify, "+name, drained, complete, func(e *evidence) { tc.change(&e.Reports[0]) }, tc.want)
	}
}

func TestGatesNameTheirMeasurements(t *testing.T) {
	var census []operate.Process
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		census = append(census, operate.Process{Name: name, Epoch: 6, Error: "down"})
	}
	present := cutover.Stage{Epoch: 7, Phase: cutover.Copying, Percent: 5, Labels: []string{"room"}}
	gates := operate.Ready(present, forward, operate.Evidence{Census: census})
	assert.Equal(t, []operate.Gate{
		{Name: "step", Have: "copying 5 % of room", Need: "a step to copying 100 %", State: operate.GateOpen},
		{Name: "processes", Have: "0 of 5", Need: "all have seen epoch 7", State: operate.GateClosed,
			Do: "wait; a process that has stopped is gone after two minutes; behind: a (epoch 6); b (epoch 6); c (epoch 6); and 2 more"},
		{Name: "errors", Have: "5 of 5 fail", Need: "every process reads the stage from every store", State: operate.GateClosed,
			Do: "repair the network or the rights of: a: down; b: down; c: down; and 2 more"},
	}, gates)
}

// closedAt sweeps twice and verifies. It returns the conditions of the next step that are not open, with
// their measurements.
func (r *rig) closedAt(present cutover.Stage, cfg operate.SweepConfig) map[string]string {
	p := r.open(present)
	closed := map[string]string{}
	for _, g := range operate.Ready(present, complete, operate.Evidence{
		Census:  []operate.Process{{Name: "a", Epoch: present.Epoch}},
		Passes:  []operate.Pass{p.sweep(cfg), p.sweep(cfg)},
		Reports: []operate.Report{p.verify(cfg)},
	}) {
		if g.State != operate.GateOpen {
			closed[g.Name] = g.Have
		}
	}
	return closed
}

// withLeftover calls test while the new store has a marker of the key room, which has expired in the old one.
func withLeftover(t *testing.T, test func(t *testing.T, r *rig)) {
	for name, leave := range map[string]func(r *rig){
		"the key was sent back":                   func(r *rig) { r.swept(forward); r.swept(reverse) },
		"a process stopped after its reservation": func(r *rig) { r.stopAt("seal", r.open(forward)) },
	} {
		run(t, name, func(t *testing.T, r *rig) {
			r.open(follow).put(room, rmw.String("v").WithTTL(time.Minute))
			leave(r)
			require.Equal(t, [2]string{"string", "list"}, r.where(room.Name))
			sleep(2 * time.Minute)
			require.Equal(t, [2]string{"none", "list"}, r.where(room.Name))
			test(t, r)
		})
	}
}

// updateWithout updates the key room as a process without this package does.
func (r *rig) updateWithout() error {
	_, err := r.direct().stores[1].Update(r.t.Context(), room, add("x"))
	return err
}

// requireServes updates the key room as a process without this package does, and as one at Complete.
func (r *rig) requireServes() {
	require.NoError(r.t, r.updateWithout())
	r.open(complete).add("y")
}

// A sweep over both stores removes markers whose key is gone, and Complete waits for it.
func TestMarkersOfExpiredKeysAreRemoved(t *testing.T) {
	withLeftover(t, func(t *testing.T, r *rig) {
		report := r.verify(16)
		assert.Equal(t, operate.Keys{Count: 1, Names: []string{room.Name}}, report.Leftover)
		assert.Zero(t, report.Wrong())
		for _, stage := range []cutover.Stage{follow, reverse, frozen(forward), {Phase: cutover.Copying}} {
			assert.Zero(t, r.open(stage).sweep(r.both(16)).Freed, stage)
		}
		heal := r.proxies[1].Inject(proxytest.Fault{Times: 1, Action: proxytest.RefuseWith, Text: "ERR refused", Match: isStep("look")})
		assert.Equal(t, 1, r.open(forward).sweep(r.both(16)).Freed)
		heal()
		assert.Empty(t, r.closedAt(drained, r.both(16)))
		r.requireServes()
	})
}

// Negative control: a sweep over the old store leaves the marker, the gates say so, and the key is blocked.
func TestMarkersStayWithoutNewMasters(t *testing.T) {
	withLeftover(t, func(t *testing.T, r *rig) {
		assert.Equal(t, map[string]string{"verify: new masters missed": "1"}, r.closedAt(drained, r.old(16)))
		require.ErrorIs(t, r.updateWithout(), rmw.ErrWrongKind)
	})
}

// A process that stops just before Complete leaves a marker as well. A sweep at Complete removes it, and the
// removal of this package waits for that.
func TestMarkersAreRemovedAtComplete(t *testing.T) {
	withLeftover(t, func(t *testing.T, r *rig) {
		r.swept(removed)
		assert.Equal(t, 1, r.open(removed).verify(r.both(16)).Leftover.Count)
		require.NoError(t, r.admin(1).RPush(t.Context(), "own", "a list that is no marker").Err())
		assert.Empty(t, r.closedAt(removed, r.both(16)))
		assert.Equal(t, "list", r.where("own")[1])
		r.requireServes()
	})
}

// A seal of a way back is executed after Complete. A sweep moves the value home, and loses nothing.
func TestSealAtComplete(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.open(forward).add("x")
		p := r.open(removed)
		p.add("y")
		marker := r.admin(0).LIndex(t.Context(), room.Name, 2).Val()
		require.NoError(t, p.clients[1].Eval(t.Context(), markerScript, []string{room.Name}, "seal", "2.1", marker, 1000).Err())
		err := p.change(add("z"))
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		require.ErrorContains(t, err, "a sweep with SweepConfig.NewMasters (-new-masters) removes it")
		assert.Empty(t, r.closedAt(removed, r.both(16)))
		p.requireText("x,y,")
		r.requireServes()
	})
}

// A pass that leaves out a name does not count, unless the name is of another service.
func TestCompleteWaitsForEveryName(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		leftOut := func(count string) map[string]string {
			return map[string]string{"names left out": count, "verify: names left out": count}
		}
		none, some, whole := r.both(16), r.both(16), r.both(16)
		assert.Empty(t, r.closedAt(drained, whole), "an empty store")
		r.fill(20)
		require.NoError(t, r.admin(0).Set(t.Context(), "billing", "v", 0).Err())
		none.Keys = func(string) (rmw.Key, bool) { return rmw.Key{}, false }
		some.Keys = func(name string) (rmw.Key, bool) { return rmw.Key{Label: "k"}, name[0] == 'k' }
		assert.Equal(t, leftOut("21"), r.closedAt(drained, none))
		r.open(drained).sweep(some)
		assert.Equal(t, leftOut("1"), r.closedAt(drained, some))
		some.Foreign = func(name string) bool { return name == "billing" }
		assert.Empty(t, r.closedAt(drained, some))
		assert.Equal(t, [2]string{"string", "none"}, r.where("billing"))
		r.open(drained).sweep(whole)
		assert.Empty(t, r.closedAt(drained, whole))
	})
}

// cluster is a client of a Redis Cluster with two masters.
type cluster struct{ *redis.Client }

func (c cluster) ForEachMaster(ctx context.Context, fn func(context.Context, *redis.Client) error) error {
	return errors.Join(fn(ctx, c.Client), fn(ctx, c.Client))
}

// A client of several servers knows how many a pass must scan.
func TestCompleteWaitsForEveryMaster(t *testing.T) {
	r := newRig(t)
	p := r.open(drained)
	store := cutover.New(cutover.Side{Store: p.stores[0], Redis: cluster{p.clients[0]}},
		cutover.Side{Store: p.stores[1], Redis: p.clients[1]}, cutover.Config{Stage: drained})
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	p.Store = store
	assert.Equal(t, operate.Scanned{Epoch: 7, Masters: 1, AllMasters: 2}, p.sweep(r.old(16)).Scanned)
}
