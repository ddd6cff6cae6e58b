package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// controls leave one rule out each.
var controls = []Config{
	{Flaw: Overwrites, Processes: procs(ab, ab2), GiveUps: 1},
	{Flaw: OpensAny, Processes: procs(ab, ab2), GiveUps: 1},
	{Flaw: OpensAnyRound, Processes: procs(ab, ab2), Rounds: 2, Repeats: 1},
	{Flaw: NoTombstone, Processes: procs(ab, ab2)},
	{Flaw: ForgetsEarly, Processes: procs(ab, ab2), Deaths: 1},
	{Flaw: ForgetsTombstone, Processes: procs(ab, ab2), GiveUps: 1},
	{Flaw: AnswersEarly, Processes: procs(ab, ab2)},
	{Flaw: TakesSealed, Processes: procs(ab, ab2)},
	{Flaw: TakesMoved, Processes: procs(ab, moveA)},
	{Flaw: TakesTwice, Processes: procs(ab, singleA)},
	{Flaw: MovesSealed, Processes: procs(ab, moveA)},
	{Flaw: GuardsBlindly, Processes: procs(ab, singleA)},
	{Flaw: ExecsBlindly, Processes: procs(ab, watchA)},
	{Flaw: DecidesEarly, Processes: procs(ab, ab2)},
	{Flaw: DecidesAfterLoss, Processes: procs(ab, ab2), GiveUps: 1},
	{Flaw: ReadsBlindly, Processes: procs(ab, readAB)},
	{Flaw: ReadsOnce, Processes: procs(ab, readA)},
	{Flaw: TrustsAborted, Processes: procs(ab, readA, singleA)},
	{Flaw: TrustsAnyTombstone, Processes: procs(ab, readAB)},
	{Flaw: SweepsLiving, Processes: procs(ab, ab2)},
	{Flaw: SweepsLiving, Processes: procs(ab, ab2), GiveUps: 1},
	{Flaw: KeepsRefused, Processes: procs(ab, moveA)},
	{Flaw: KeepsAll, Processes: procs(ab, ab2), Rounds: 2, Patient: true},
	{Flaw: LeavesApart, Processes: procs(cross, moveA, singleA)},
	{Flaw: TakesAbsent, Processes: procs(cross, moveA)},
}

// Each rule that is left out breaks an invariant, and no invariant breaks with all rules.
func TestControls(t *testing.T) {
	var table strings.Builder
	for _, c := range controls {
		t.Run(string(c.Flaw), func(t *testing.T) {
			c.Attempts, c.Rounds = 2, max(c.Rounds, 1)
			r := broken(t, c)
			fmt.Fprintf(&table, "\n%-88s %6d states: %s", c.Flaw, r.States, r.Violation)
			if c.Flaw = ""; c.Rounds == 1 {
				require.Empty(t, Explore(c).Violation)
			}
		})
	}
	t.Log(table.String())
}

// A server that forgets an acknowledged write in a failover breaks the protocol, as it breaks a single key.
func TestFailoverThatForgets(t *testing.T) {
	broken(t, Config{Processes: procs(ab, ab2), Attempts: 2, Rounds: 1, Failovers: 1})
}

func broken(t *testing.T, c Config) Result {
	t.Helper()
	r := Explore(c)
	assert.NotEmpty(t, r.Violation)
	assert.NotEmpty(t, r.Trace)
	t.Logf("%d states: %s\n%s", r.States, r.Violation, r.Trace)
	return r
}
