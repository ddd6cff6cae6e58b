package model

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
)

// Processes. Their amounts are powers of two, so that each value tells which of them are in it.
var (
	ab       = Process{Amounts: [Keys]int8{1, 1, 0}}
	ab2      = Process{Amounts: [Keys]int8{2, 2, 0}}
	bc       = Process{Amounts: [Keys]int8{0, 2, 2}}
	ca       = Process{Amounts: [Keys]int8{4, 0, 4}}
	abc      = Process{Amounts: [Keys]int8{1, 1, 1}}
	writesA  = Process{Amounts: [Keys]int8{1, 0, 0}, Reads: 0b010}
	writesB  = Process{Amounts: [Keys]int8{0, 1, 0}, Reads: 0b001}
	readAB   = Process{Kind: ReadAll, Reads: 0b011}
	readABC  = Process{Kind: ReadAll, Reads: 0b111}
	readA    = Process{Kind: ReadOne, Reads: 0b001}
	singleA  = Process{Kind: Single, Amounts: [Keys]int8{8, 0, 0}}
	watchA   = Process{Kind: Watch, Amounts: [Keys]int8{8, 0, 0}}
	singleA4 = Process{Kind: Single, Amounts: [Keys]int8{4, 0, 0}}
	moveA    = Process{Kind: Move}
	cross    = Process{Amounts: [Keys]int8{1, 1, 0}, Crosses: true}
	cross2   = Process{Amounts: [Keys]int8{2, 2, 0}, Crosses: true}
	singleB  = Process{Kind: Single, Amounts: [Keys]int8{0, 8, 0}}
)

type named struct {
	name string
	Config
}

func procs(p ...Process) []Process { return p }

var configs = []named{
	{"2 updates, a lost reply", Config{Processes: procs(ab, ab), Attempts: 2, Rounds: 1, GiveUps: 1}},
	{"2 updates, a lost reply, a death", Config{Processes: procs(ab, ab), Attempts: 2, Rounds: 1, GiveUps: 1, Deaths: 1}},
	{"2 updates, 2 lost replies, a death", Config{Processes: procs(ab, ab2), Attempts: 1, Rounds: 1, GiveUps: 2, Deaths: 1}},
	{"2 updates, 2 rounds, a repeated open", Config{Processes: procs(ab, ab), Attempts: 2, Rounds: 2, Repeats: 1}},
	{"2 updates, 2 rounds, 2 deaths", Config{Processes: procs(ab, ab), Attempts: 2, Rounds: 2, Deaths: 2}},
	{"2 updates, write skew, a lost reply", Config{Processes: procs(writesA, writesB), Attempts: 2, Rounds: 1, GiveUps: 1}},
	{"3 updates of pairs", Config{Processes: procs(ab, bc, ca), Attempts: 2, Rounds: 1}},
	{"3 updates of pairs, 2 rounds", Config{Processes: procs(ab, bc, ca), Attempts: 1, Rounds: 2}},
	{"3 updates of pairs, a lost reply", Config{Processes: procs(ab, bc, ca), Attempts: 1, Rounds: 1, GiveUps: 1, Deaths: 1}},
	{"3 updates of 3 keys", Config{Processes: procs(abc, abc, abc), Attempts: 1, Rounds: 1}},
	{"3 updates of pairs that wait", Config{Processes: procs(ab, bc, ca), Attempts: 1, Rounds: 2, Patient: true}},
	{"an update, a read of both, a lost reply", Config{Processes: procs(ab, readAB), Attempts: 2, Rounds: 1, GiveUps: 1}},
	{"2 updates, a read of 3 keys", Config{Processes: procs(ab, bc, readABC), Attempts: 1, Rounds: 1}},
	{"an update, a read of 1, a commit, a lost reply", Config{Processes: procs(ab, readA, singleA), Attempts: 2, Rounds: 1, GiveUps: 1}},
	{"2 updates, a read of 1, a death", Config{Processes: procs(ab, ab, readA), Attempts: 1, Rounds: 2, Deaths: 1}},
	{"an update, a commit, a WATCH, a death", Config{Processes: procs(ab, singleA4, watchA), Attempts: 2, Rounds: 2, Deaths: 1}},
	{"an update, a WATCH, a lost reply, a death", Config{Processes: procs(ab, watchA), Attempts: 2, Rounds: 2, GiveUps: 1, Deaths: 1}},
	{"an update, a move, a commit, a death", Config{Processes: procs(ab, moveA, singleA), Attempts: 2, Rounds: 1, Deaths: 1}},
	{"an update, a move, a lost reply, a death", Config{Processes: procs(ab, moveA), Attempts: 2, Rounds: 2, GiveUps: 1, Deaths: 1}},
	{"an update over two homes, a move, a death", Config{Processes: procs(cross, moveA), Attempts: 2, Rounds: 2, Deaths: 1}},
	{"an update over two homes, a move, a commit", Config{Processes: procs(cross, moveA, singleB), Attempts: 2, Rounds: 1}},
	{"an update over two homes, an old one, a move", Config{Processes: procs(cross, ab2, moveA), Attempts: 2, Rounds: 1}},
	{"2 updates over two homes, a move", Config{Processes: procs(cross, cross2, moveA), Attempts: 2, Rounds: 1}},
}

var longConfigs = []named{
	{"2 updates, 2 rounds, a lost reply", Config{Processes: procs(ab, ab), Attempts: 2, Rounds: 2, GiveUps: 1}},
	{"3 updates of 3 keys, 2 rounds", Config{Processes: procs(abc, abc, abc), Attempts: 1, Rounds: 2}},
	{"2 updates, a read of 3 keys, 2 attempts", Config{Processes: procs(ab, bc, readABC), Attempts: 2, Rounds: 1}},
	{"3 updates of pairs, 2 attempts, a death", Config{Processes: procs(ab, bc, ca), Attempts: 2, Rounds: 1, Deaths: 1}},
	{"2 updates, a move, a commit, a lost reply", Config{Processes: procs(ab, ab, moveA, singleA), Attempts: 1, Rounds: 1, GiveUps: 1}},
}

func TestProtocol(t *testing.T) { explore(t, configs) }

func TestLongProtocol(t *testing.T) {
	long.Only(t)
	explore(t, longConfigs)
}

// explore requires that no invariant breaks, and logs a table.
func explore(t *testing.T, configs []named) {
	var table strings.Builder
	for _, c := range configs {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			r := Explore(c.Config)
			fmt.Fprintf(&table, "\n%-48s %8d states %8v", c.name, r.States, time.Since(began).Round(10*time.Millisecond))
			require.Empty(t, r.Violation, r.Trace)
			for i, acked := range r.Acknowledged {
				assert.True(t, acked, "process %d is never acknowledged", i)
			}
		})
	}
	t.Log(table.String())
}
