package session_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// matrix holds the outcome of each operation in each state, independently of the transition table: the next
// state, "keep", or a refusal's code. A + means that the epoch grows.
const matrix = `
operation      bot           queued        assigned      active        on_hold       closed
Escalate       queued        not_now       not_now       not_now       not_now       session_closed
Assign         not_now       assigned+     not_now       not_now       not_now       session_closed
Reply          not_now       not_now       active        active        on_hold       session_closed
Decline        not_now       not_now       queued+       not_now       not_now       session_closed
Hold           not_now       not_now       not_now       on_hold       keep          session_closed
Resume         not_now       not_now       not_now       keep          active        session_closed
VisitorWrites  bot           queued        assigned      active        active        session_closed
Transfer       not_now       not_now       assigned+     assigned+     assigned+     session_closed
Requeue        not_now       not_now       queued+       queued+       queued+       session_closed
Close          closed+       closed+       closed+       closed+       closed+       keep
CloseIdle      not_idle      closed+       closed+       closed+       not_idle      keep
Rate           session_open  session_open  session_open  session_open  session_open  closed
Reopen         session_open  session_open  session_open  session_open  session_open  queued+
SetPriority    bot           queued        assigned      active        on_hold       session_closed
SetMerchant    bot           queued        assigned      active        on_hold       session_closed
Fence          bot+          queued+       assigned+     active+       on_hold+      closed+
`

// cells calls f for each cell of the matrix.
func cells(f func(op string, from session.Status, want string)) {
	lines := strings.Split(strings.TrimSpace(matrix), "\n")
	states := strings.Fields(lines[0])[1:]
	for _, line := range lines[1:] {
		row := strings.Fields(line)
		for i, want := range row[1:] {
			f(row[0], session.Status(states[i]), want)
		}
	}
}

// usual is an operation at minute 10 by the session's agent, at its epoch, so that only the state decides.
func usual(op string, seen session.Session) step {
	return step{
		op: op, id: "it", at: int64(at(10)), agent: cmp.Or(seen.AgentID, "ann"), to: "ben", queue: "q2", by: "boss", epoch: seen.Epoch,
		number: 3,
		idle:   session.Idle{Queue: time.Minute, Visitor: time.Minute, Agent: time.Minute}, rate: 1 << 40, reopen: 1 << 40,
	}
}

// Each operation has the same result on every path as in memory.
func TestEveryPath(t *testing.T) {
	paths.Each(t, func(t *testing.T, target rmwtest.Target) {
		const layout = domains.HashByVersion
		cfg := session.Config{Layout: layout, RateWindow: windows.Rate, ReopenWindow: windows.Reopen}
		done := map[string]bool{}
		cells(func(op string, from session.Status, want string) {
			if done[op] || !moves(want) {
				return
			}
			done[op] = true
			memory, path := onMemory(t, layout), &fixture{T: t, target: target, layout: layout, sessions: session.New(target.Open(), cfg)}
			before := memory.in(from)
			path.in(from)
			expected, err := usual(op, before).send(memory.sessions, "s")
			require.NoError(t, err)
			got, err := usual(op, before).send(path.sessions, "s")
			require.NoError(t, err)
			assert.Equal(t, expected, got, op)
			assert.Equal(t, expected, path.get(), op)
		})
		assert.Len(t, done, 16)
	})
}

// moves reports whether a cell of the matrix is a state.
func moves(want string) bool {
	return slices.Contains(session.Transitions().States(), strings.TrimSuffix(want, "+"))
}

// The table that the operations ask, and that the documents are made of, is the matrix.
func TestTableMatchesMatrix(t *testing.T) {
	table := session.Transitions()
	rows := map[string]int{}
	cells(func(op string, from session.Status, want string) {
		to, ok := table.Next(op, string(from), "")
		want, _ = strings.CutSuffix(want, "+")
		moves := slices.Contains(table.States(), want)
		if want == "keep" || op == "CloseIdle" && want == "not_idle" {
			moves = false
		}
		assert.Equal(t, moves, ok, "%s of %s", op, from)
		if moves {
			assert.Equal(t, want, to, "%s of %s", op, from)
			rows[op]++
		}
	})
	for _, row := range table.Rows {
		rows[row.Op] -= len(row.From)
	}
	for op, n := range rows {
		assert.Zero(t, n, "the table has other rows for %s", op)
	}
	assert.Equal(t, []string{"bot", "queued", "closed", "assigned", "active", "on_hold"}, table.States())
}

// A caller cannot change the table of the operations.
func TestTransitionsReturnsACopy(t *testing.T) {
	table := session.Transitions()
	for i := range table.Rows {
		table.Rows[i].To = "nowhere"
		for j := range table.Rows[i].From {
			table.Rows[i].From[j] = "nowhere"
		}
	}
	s := session.Session{ID: "s", Status: session.Queued}
	require.NoError(t, s.Assign(at(0), "ann", 0))
	assert.Equal(t, session.Assigned, s.Status)
}
