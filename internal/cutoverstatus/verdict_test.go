package cutoverstatus_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/cutoverstatus"
)

// The verdict is the first answer, and names the step of the runbook.
func TestVerdict(t *testing.T) {
	ready := []operate.Gate{{Name: "passes", State: operate.GateOpen}, {Name: "verify", State: operate.GateOpen}}
	all := func(f *cutoverstatus.Facts) { // keys are at home, and every process has seen the stage
		f.Names, f.Sweepers, f.Present.Epoch, f.Gates = 9, nil, 4, slices.Clone(ready)
		f.Sample = &operate.Report{Scanned: operate.Scanned{Names: 9, Chosen: 9}, Equal: 9}
	}
	of := func(stage cutover.Stage, change ...func(f *cutoverstatus.Facts)) func(f *cutoverstatus.Facts) {
		return func(f *cutoverstatus.Facts) {
			all(f)
			f.Present.Phase, f.Present.Percent, f.Present.Labels, f.Present.Freeze = stage.Phase, stage.Percent, stage.Labels, stage.Freeze
			if stage.Phase != cutover.Complete && stage.Percent < 100 {
				f.Next = cutover.Stage{Phase: cutover.Copying, Percent: 100}
			}
			for _, one := range change {
				one(f)
			}
		}
	}
	gate := func(i int, state operate.GateState, do string) func(f *cutoverstatus.Facts) {
		return func(f *cutoverstatus.Facts) { f.Gates[i].State, f.Gates[i].Do = state, do }
	}
	copies, part := cutover.Stage{Phase: cutover.Copying, Percent: 100}, cutover.Stage{Phase: cutover.Copying, Percent: 5}
	back, complete := cutover.Stage{Phase: cutover.Reverse}, cutover.Stage{Phase: cutover.Complete}
	stopped := cutover.Stage{Phase: cutover.Copying, Percent: 100, Freeze: true}
	for _, tc := range []struct {
		change func(*cutoverstatus.Facts)
		want   string
	}{
		{func(f *cutoverstatus.Facts) { f.Stores[0].Down = "LOADING" },
			"a store is down: the old one: LOADING | repair the old store; to stop new moves meanwhile: freeze (step 5)"},
		{func(f *cutoverstatus.Facts) { f.Stores[0].Down, f.Stores[1].Down = "a", "b" },
			"a store is down: the old one: a; the new one: b | repair the old and the new store; to stop new moves meanwhile: freeze (step 5)"},
		{func(f *cutoverstatus.Facts) { f.Stores[1].Lost = true },
			"WRONG: the new store has no stage document | check -new; then repeat the last step that published a stage"},
		{func(f *cutoverstatus.Facts) { f.Sample.TwoHomes.Count = 1 },
			"WRONG: about 1,000 keys | freeze (step 5); verify names the keys; find their writer, then repair (step 12)"},
		{func(f *cutoverstatus.Facts) { f.Records[2].Verify.Unmarked.Count, f.Present.Freeze = 2, true },
			"WRONG: 2 keys, by the verify of 2 h ago | verify names the keys; find their writer, then repair (step 12)"},
		{of(copies, func(f *cutoverstatus.Facts) { f.Records[2].Verify.Unmarked.Count = 2 }), "fine | advance -to complete (step 13)"},
		{func(f *cutoverstatus.Facts) { f.Census = nil },
			"not yet: no process has sent a heartbeat | start the heartbeats (step 2)"},
		{func(*cutoverstatus.Facts) {}, "not yet: epoch 5 is not seen by 1 of 3 processes: desk-2:4711:ijkl | " +
			"wait until every process has seen the stage; one that has stopped is gone after two minutes"},
		{of(copies, func(f *cutoverstatus.Facts) { f.Census[0].Error = "NOPERM" }),
			"not yet: the stage cannot be read by 1 of 3 processes: desk-0:4711:abcd: NOPERM | " +
				"repair the network or the rights of these processes; if a stage is to be published again, repeat its step"},
		{of(stopped), "not yet: frozen: no move begins before freeze -off | find out why moves are stopped; then freeze -off (step 6)"},
		{of(copies, func(f *cutoverstatus.Facts) { f.Sample, f.Records, f.SampleError = nil, nil, "NOPERM" }),
			"not yet: the keys are unknown: NOPERM | " +
				"repeat status; if the old store refuses SCAN or DBSIZE, permit it, or verify with -passes"},
		{func(f *cutoverstatus.Facts) { f.Present.Epoch = 4 },
			"not yet: about 250,000 keys to move: by a sweep, or when a process updates them | wait for the sweep that runs; 2 min 3 s left"},
		{of(cutover.Stage{}, func(f *cutoverstatus.Facts) { f.Present.Epoch, f.Stores[0].Lost = 0, true }),
			"fine | plan, then advance -to follow (steps 1 and 2)"},
		{of(cutover.Stage{}), "fine | advance -percent 1 -labels LABEL (step 3)"},
		{of(part), "fine | watch the service (step 4); then advance -percent 100 -labels '' (step 7)"},
		{of(copies, gate(0, operate.GateUnknown, "")), "fine | sweep (step 11), until two passes in a row move none"},
		{of(copies, gate(1, operate.GateUnknown, "")), "fine | verify (step 12)"},
		{of(copies, gate(0, operate.GateUnknown, ""), gate(1, operate.GateClosed, "find it")), "fine | verify: find it"},
		{of(copies, gate(1, operate.GateClosed, "find it"), func(f *cutoverstatus.Facts) {
			f.Gates[1].Names = []string{"room:1", "room:2", "room:3", "room:4"}
		}), "fine | verify: find it, such as room:1 room:2 room:3"},
		{of(copies), "fine | advance -to complete (step 13)"},
		{of(back), "not yet: 9 keys to move: by a sweep, or when a process updates them | " +
			"sweep until a pass moves none, then verify (steps 9 and 9a)"},
		{of(complete, gate(1, operate.GateUnknown, "")), "fine | sweep, then verify (steps 14 and 15)"},
		{of(complete), "fine | remove cutover from the service (step 16)"},
	} {
		f := copying()
		tc.change(&f)
		s := cutoverstatus.New(f)
		v := s.Verdict
		assert.Equal(t, tc.want, strings.TrimSuffix(v.State+": "+v.Why, ": ")+" | "+v.Do)
		lead := strings.Join(strings.Fields(s.Text()), " ")
		assert.True(t, strings.HasPrefix(lead, "Verdict: "+strings.Replace(tc.want, " | ", " Do next: ", 1)+" Cut-over desk: "), lead)
		html, _ := page(t, s)
		assert.Contains(t, html, "<strong>"+v.State+"</strong>")
	}
	unreadable := cutoverstatus.Status{Verdict: cutoverstatus.Unreadable(nil, errors.New("this is no stage document"))}
	assert.Equal(t, "Verdict: WRONG: the stage cannot be read: this is no stage document\n"+
		"Do next: repair what the error names\n", unreadable.Text())
}
