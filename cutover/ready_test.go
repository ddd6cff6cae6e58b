package cutover_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/cutover"
)

func TestReady(t *testing.T) {
	at := func(epoch uint64, s cutover.Stage) cutover.Stage { s.Epoch = epoch; return s }
	copying := func(percent int, labels ...string) cutover.Stage {
		return cutover.Stage{Phase: cutover.Copying, Percent: percent, Labels: labels}
	}
	complete := cutover.Stage{Phase: cutover.Complete}
	frozen := cutover.Stage{Phase: cutover.Copying, Percent: 100, Freeze: true}
	seen := []cutover.Process{{Name: "a", Epoch: 7}, {Name: "b", Epoch: 7}}
	behind := []cutover.Process{{Name: "a", Epoch: 7}, {Name: "b", Epoch: 6}}
	failing := []cutover.Process{{Name: "a", Epoch: 7}, {Name: "b", Epoch: 7, Error: "the new store: down"}}
	one := cutover.Keys{Count: 1}
	scanned := cutover.Scanned{
		Cutover: "desk", Epoch: 7, Masters: 1, AllMasters: 1, NewMasters: 2, AllNewMasters: 2, Names: 23, Chosen: 20, Foreign: 3,
	}
	pass := func(change func(*cutover.Pass)) cutover.Pass {
		p := cutover.Pass{Scanned: scanned, There: 20}
		change(&p)
		return p
	}
	report := func(change func(*cutover.Report)) []cutover.Report {
		r := cutover.Report{Scanned: scanned, Equal: 15, ChangedSince: 5}
		change(&r)
		return []cutover.Report{r}
	}
	good := pass(func(*cutover.Pass) {})
	clean := []cutover.Pass{good, good}
	bad := func(change func(*cutover.Pass)) []cutover.Pass { return []cutover.Pass{good, pass(change)} }
	verified := report(func(*cutover.Report) {})
	const ready, closed, unknown = cutover.GateOpen, cutover.GateClosed, cutover.GateUnknown
	not := func(gate string) map[string]cutover.GateState { return map[string]cutover.GateState{gate: closed} }
	all := func(gates ...string) map[string]cutover.GateState {
		states := map[string]cutover.GateState{}
		for _, name := range gates {
			states[name] = unknown
		}
		return states
	}
	unswept := all("passes", "masters missed", "names left out", "open keys", "keys in transit", "keys too large",
		"keys of other types", "keys with two values")
	unverifiedAtComplete := all("verify", "verify: masters missed", "verify: new masters missed", "verify: names left out",
		"markers left over")
	unverified := all("keys not moved", "wrong keys")
	maps.Copy(unverified, unverifiedAtComplete)
	type row struct {
		present, next cutover.Stage
		census        []cutover.Process
		passes        []cutover.Pass
		reports       []cutover.Report
		want          map[string]cutover.GateState // not: all ready
	}
	rows := map[string]row{
		"first keys":    {at(7, follow), copying(1), seen, nil, nil, nil},
		"behind":        {at(7, follow), copying(1), behind, nil, nil, not("processes")},
		"failing":       {at(7, follow), copying(1), failing, nil, nil, not("errors")},
		"nobody":        {at(7, follow), copying(1), nil, nil, nil, all("processes", "errors")},
		"more":          {at(7, copying(1)), copying(2), behind, nil, nil, not("processes")},
		"more labels":   {at(7, copying(1, "a")), copying(1, "a", "b"), behind, nil, nil, not("processes")},
		"all labels":    {at(7, copying(1, "a")), copying(1), behind, nil, nil, not("processes")},
		"fewer":         {at(7, copying(2)), copying(1), behind, nil, nil, nil},
		"fewer labels":  {at(7, copying(1)), copying(1, "a"), nil, nil, nil, nil},
		"freeze":        {at(7, copying(2)), frozen, nil, nil, nil, nil},
		"back":          {at(7, copying(2)), reverse, nil, nil, nil, nil},
		"forward again": {at(7, reverse), copying(2), behind, nil, nil, not("processes")},
		"forward again, all": {at(7, cutover.Stage{Phase: cutover.Reverse, Percent: 100}), forward, behind, nil, nil,
			not("processes")},
		"illegal":          {at(7, follow), reverse, seen, nil, nil, not("step")},
		"complete":         {at(7, forward), complete, seen, clean, verified, nil},
		"complete, behind": {at(7, forward), complete, behind, clean, verified, not("processes")},
		"complete, half":   {at(7, copying(50)), complete, seen, clean, verified, not("step")},

		"remove":             {at(7, complete), complete, seen, nil, verified, nil},
		"remove, unverified": {at(7, complete), complete, seen, nil, nil, unverifiedAtComplete},
		"remove, behind":     {at(7, complete), complete, behind, nil, verified, not("processes")},
		"remove, left over": {at(7, complete), complete, seen, nil,
			report(func(r *cutover.Report) { r.Leftover = one }), not("markers left over")},
		"remove, keys of Complete": {at(7, complete), complete, seen, nil,
			report(func(r *cutover.Report) { r.Unmarked, r.Equal, r.Open = one, 14, 1 }), nil},
	}
	// Passes before Complete; the verify is good.
	for name, tc := range map[string]struct {
		passes []cutover.Pass
		want   map[string]cutover.GateState
	}{
		"one pass only":              {clean[:1], unswept},
		"passes of another epoch":    {[]cutover.Pass{good, pass(func(p *cutover.Pass) { p.Epoch = 6 }), good}, unswept},
		"passes at several epochs":   {bad(func(p *cutover.Pass) { p.Epoch = 0 }), unswept},
		"passes of another cut-over": {bad(func(p *cutover.Pass) { p.Cutover = "room" }), unswept},
		"another cut-over's pass between": {
			[]cutover.Pass{good, pass(func(p *cutover.Pass) { p.Cutover, p.Moved = "room", 3 }), good}, nil,
		},
		"a pass without a master":   {bad(func(p *cutover.Pass) { p.AllMasters = 3 }), not("masters missed")},
		"a pass that did not end":   {bad(func(p *cutover.Pass) { p.Masters = 0 }), not("masters missed")},
		"a pass with a pattern":     {bad(func(p *cutover.Pass) { p.LeftOut, p.Names = one, 24 }), not("names left out")},
		"a pass that chose nothing": {bad(func(p *cutover.Pass) { p.Chosen, p.There = 0, 0 }), not("names left out")},
		"a pass without its counts": {bad(func(p *cutover.Pass) { p.There = 19 }), not("names left out")},
		"open":                      {bad(func(p *cutover.Pass) { p.There, p.Moved = 19, 1 }), not("open keys")},
		"open before":               {[]cutover.Pass{pass(func(p *cutover.Pass) { p.There, p.Moved = 0, 20 }), good, good}, nil},
		"in transit":                {bad(func(p *cutover.Pass) { p.There, p.Completed = 19, 1 }), not("keys in transit")},
		"too large":                 {bad(func(p *cutover.Pass) { p.There, p.TooLarge = 19, one }), not("keys too large")},
		"other types":               {bad(func(p *cutover.Pass) { p.There, p.OtherType = 19, one }), not("keys of other types")},
		"two values":                {bad(func(p *cutover.Pass) { p.There, p.Refused = 19, one }), not("keys with two values")},
	} {
		rows["complete, "+name] = row{at(7, forward), complete, seen, tc.passes, verified, tc.want}
	}
	// Verifies before Complete; the passes are good.
	for name, tc := range map[string]struct {
		reports []cutover.Report
		want    map[string]cutover.GateState
	}{
		"unverified":                {nil, unverified},
		"verified before":           {report(func(r *cutover.Report) { r.Epoch = 6 }), unverified},
		"another cut-over verified": {report(func(r *cutover.Report) { r.Cutover = "room" }), unverified},
		"the last verify counts": {
			slices.Concat(verified, report(func(r *cutover.Report) { r.TwoHomes = one })), not("wrong keys"),
		},
		"verified in part":          {report(func(r *cutover.Report) { r.LeftOut, r.Names = one, 24 }), not("verify: names left out")},
		"a verify without a master": {report(func(r *cutover.Report) { r.Masters = 0 }), not("verify: masters missed")},
		"verified at the old store": {
			report(func(r *cutover.Report) { r.NewMasters, r.AllNewMasters = 0, 0 }), not("verify: new masters missed"),
		},
		"left over":       {report(func(r *cutover.Report) { r.Leftover = one }), not("markers left over")},
		"a key came back": {report(func(r *cutover.Report) { r.Equal, r.Open = 14, 1 }), not("keys not moved")},
	} {
		rows["complete, "+name] = row{at(7, forward), complete, seen, clean, tc.reports, tc.want}
	}
	for name, tc := range rows {
		t.Run(name, func(t *testing.T) {
			got := map[string]cutover.GateState{}
			evidence := cutover.Evidence{Name: "desk", Census: tc.census, Passes: tc.passes, Reports: tc.reports}
			for _, g := range cutover.Ready(tc.present, tc.next, evidence) {
				if g.State != ready {
					got[g.Name] = g.State
					assert.NotEmpty(t, g.Do, g.Name)
				} else {
					assert.Empty(t, g.Do, g.Name)
				}
				assert.NotEmpty(t, g.Have)
				assert.NotEmpty(t, g.Need)
			}
			if tc.want == nil {
				tc.want = map[string]cutover.GateState{}
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestGatesNameTheirMeasurements(t *testing.T) {
	var census []cutover.Process
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		census = append(census, cutover.Process{Name: name, Epoch: 6, Error: "down"})
	}
	present := cutover.Stage{Epoch: 7, Phase: cutover.Copying, Percent: 5, Labels: []string{"room"}}
	gates := cutover.Ready(present, forward, cutover.Evidence{Census: census})
	assert.Equal(t, []cutover.Gate{
		{Name: "step", Have: "copying 5 % of room", Need: "a step to copying 100 %", State: cutover.GateOpen},
		{Name: "processes", Have: "0 of 5", Need: "all have seen epoch 7", State: cutover.GateClosed,
			Do: "wait; a process that has stopped is gone after two minutes; behind: a (epoch 6); b (epoch 6); c (epoch 6); and 2 more"},
		{Name: "errors", Have: "5 of 5 fail", Need: "every process reads the stage from every store", State: cutover.GateClosed,
			Do: "repair the network or the rights of: a: down; b: down; c: down; and 2 more"},
	}, gates)
}
