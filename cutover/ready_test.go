package cutover_test

import (
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
	clean := []cutover.Pass{{Epoch: 7}, {Epoch: 7}}
	const ready, not, unknown = cutover.GateOpen, cutover.GateClosed, cutover.GateUnknown
	for name, tc := range map[string]struct {
		present, next cutover.Stage
		census        []cutover.Process
		passes        []cutover.Pass
		want          map[string]cutover.GateState // not: all ready
	}{
		"first keys":    {at(7, follow), copying(1), seen, nil, nil},
		"behind":        {at(7, follow), copying(1), behind, nil, map[string]cutover.GateState{"processes": not}},
		"failing":       {at(7, follow), copying(1), failing, nil, map[string]cutover.GateState{"errors": not}},
		"nobody":        {at(7, follow), copying(1), nil, nil, map[string]cutover.GateState{"processes": unknown, "errors": unknown}},
		"more":          {at(7, copying(1)), copying(2), behind, nil, map[string]cutover.GateState{"processes": not}},
		"more labels":   {at(7, copying(1, "a")), copying(1, "a", "b"), behind, nil, map[string]cutover.GateState{"processes": not}},
		"all labels":    {at(7, copying(1, "a")), copying(1), behind, nil, map[string]cutover.GateState{"processes": not}},
		"fewer":         {at(7, copying(2)), copying(1), behind, nil, nil},
		"fewer labels":  {at(7, copying(1)), copying(1, "a"), nil, nil, nil},
		"freeze":        {at(7, copying(2)), frozen, nil, nil, nil},
		"back":          {at(7, copying(2)), reverse, nil, nil, nil},
		"forward again": {at(7, reverse), copying(2), behind, nil, map[string]cutover.GateState{"processes": not}},
		"forward again, all": {at(7, cutover.Stage{Phase: cutover.Reverse, Percent: 100}), forward, behind, nil,
			map[string]cutover.GateState{"processes": not}},
		"illegal":           {at(7, follow), reverse, seen, nil, map[string]cutover.GateState{"step": not}},
		"complete":          {at(7, forward), complete, seen, clean, nil},
		"complete, behind":  {at(7, forward), complete, behind, clean, map[string]cutover.GateState{"processes": not}},
		"complete, half":    {at(7, copying(50)), complete, seen, clean, map[string]cutover.GateState{"step": not}},
		"complete, unswept": {at(7, forward), complete, seen, clean[:1], all(unknown)},
		"complete, passes of another epoch": {at(7, forward), complete, seen,
			[]cutover.Pass{{Epoch: 7}, {Epoch: 6}, {Epoch: 7}}, all(unknown)},
		"complete, open": {at(7, forward), complete, seen,
			[]cutover.Pass{{Epoch: 7, Moved: 1}, {Epoch: 7}}, map[string]cutover.GateState{"open keys": not}},
		"complete, open before": {at(7, forward), complete, seen,
			[]cutover.Pass{{Epoch: 7, Moved: 1}, {Epoch: 7}, {Epoch: 7}}, nil},
		"complete, in transit": {at(7, forward), complete, seen,
			[]cutover.Pass{{Epoch: 7}, {Epoch: 7, Completed: 1}}, map[string]cutover.GateState{"keys in transit": not}},
		"complete, too large": {at(7, forward), complete, seen,
			[]cutover.Pass{{Epoch: 7, TooLarge: one}, {Epoch: 7}}, map[string]cutover.GateState{"keys too large": not}},
		"complete, other types": {at(7, forward), complete, seen,
			[]cutover.Pass{{Epoch: 7}, {Epoch: 7, OtherType: one}}, map[string]cutover.GateState{"keys of other types": not}},
		"complete, two values": {at(7, forward), complete, seen,
			[]cutover.Pass{{Epoch: 7}, {Epoch: 7, Refused: one}}, map[string]cutover.GateState{"keys with two values": not}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]cutover.GateState{}
			for _, g := range cutover.Ready(tc.present, tc.next, tc.census, tc.passes) {
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

// all is a state of every gate of the sweeper.
func all(state cutover.GateState) map[string]cutover.GateState {
	return map[string]cutover.GateState{
		"passes": state, "open keys": state, "keys in transit": state, "keys too large": state, "keys of other types": state,
		"keys with two values": state,
	}
}

func TestGatesNameTheirMeasurements(t *testing.T) {
	var census []cutover.Process
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		census = append(census, cutover.Process{Name: name, Epoch: 6, Error: "down"})
	}
	gates := cutover.Ready(cutover.Stage{Epoch: 7, Phase: cutover.Copying, Percent: 5, Labels: []string{"room"}}, forward, census, nil)
	assert.Equal(t, []cutover.Gate{
		{Name: "step", Have: "copying 5 % of room", Need: "a step to copying 100 %", State: cutover.GateOpen},
		{Name: "processes", Have: "0 of 5", Need: "all have seen epoch 7", State: cutover.GateClosed,
			Do: "wait; a process that has stopped is gone after two minutes; behind: a (epoch 6); b (epoch 6); c (epoch 6); and 2 more"},
		{Name: "errors", Have: "5 of 5 fail", Need: "every process reads the stage from every store", State: cutover.GateClosed,
			Do: "repair the network or the rights of: a: down; b: down; c: down; and 2 more"},
	}, gates)
}
