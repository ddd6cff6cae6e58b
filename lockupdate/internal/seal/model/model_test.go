package model

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	ab     = Process{Amounts: [Keys]int8{1, -1, 0}}
	ba     = Process{Amounts: [Keys]int8{10, -10, 0}}
	bc     = Process{Amounts: [Keys]int8{0, 10, -10}}
	a      = Process{Kind: Single, Amounts: [Keys]int8{100, 0, 0}}
	readAB = Process{Kind: ReadAll, Reads: 0b011}
)

var (
	writesAReadsB = Process{Amounts: [Keys]int8{1, 0, 0}, Reads: 0b010}
	writesBReadsA = Process{Amounts: [Keys]int8{0, 1, 0}, Reads: 0b001}
	readAll       = Process{Kind: ReadAll, Reads: 0b111}
)

func TestProtocol(t *testing.T) {
	for name, c := range map[string]Config{
		"two transactions":            {Processes: []Process{ab, ba}, Attempts: 2, GiveUps: 1},
		"two lost replies":            {Processes: []Process{ab, ba}, Attempts: 1, GiveUps: 2, Deaths: 1},
		"a transaction and a commit":  {Processes: []Process{ab, a}, Attempts: 2, GiveUps: 1, Deaths: 1},
		"a transaction and a read":    {Processes: []Process{ab, readAB}, Attempts: 2, GiveUps: 1},
		"write skew":                  {Processes: []Process{writesAReadsB, writesBReadsA}, Attempts: 2, GiveUps: 1},
		"an overlap, and a read":      {Processes: []Process{ab, bc, readAll}, Attempts: 1},
		"an overlap, and a lost take": {Processes: []Process{ab, bc, a}, Attempts: 1, GiveUps: 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := Explore(c)
			t.Log(r.States, "states")
			require.Empty(t, r.Violation, r.Trace)
			for i, acked := range r.Acknowledged {
				assert.True(t, acked, "process %d is never acknowledged", i)
			}
		})
	}
}

// Each rule that is left out breaks an invariant.
func TestControls(t *testing.T) {
	for _, c := range []Config{
		{Flaw: Overwrites, Processes: []Process{ab, ba}, GiveUps: 1},
		{Flaw: UnsealsAny, Processes: []Process{ab, ba}, GiveUps: 1},
		{Flaw: NoTombstone, Processes: []Process{ab, ba}},
		{Flaw: ForgetsEarly, Processes: []Process{ab, ba}, Deaths: 1},
		{Flaw: AnswersEarly, Processes: []Process{ab, ba}},
		{Flaw: TakesSealed, Processes: []Process{ab, ba}},
		{Flaw: GuardsBlindly, Processes: []Process{ab, a}},
		{Flaw: DecidesEarly, Processes: []Process{ab, ba}},
		{Flaw: ReadsBlindly, Processes: []Process{ab, readAB}},
		{Flaw: TrustsAnyTombstone, Processes: []Process{ab, readAB}},
		{Flaw: RestoresOwn, Processes: []Process{ab, ba}, GiveUps: 1},
	} {
		t.Run(string(c.Flaw), func(t *testing.T) {
			c.Attempts = 2
			broken(t, c)
		})
	}
}

// A server that forgets an acknowledged write in a failover breaks the protocol, as it breaks a single key.
func TestFailoverThatForgets(t *testing.T) {
	broken(t, Config{Processes: []Process{ab, ba}, Attempts: 2, Failovers: 1})
}

func broken(t *testing.T, c Config) {
	t.Helper()
	r := Explore(c)
	assert.NotEmpty(t, r.Violation)
	t.Logf("%d states: %s\n%s", r.States, r.Violation, r.Trace)
}
