package desk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// limit is how many sessions each agent of the tests may have.
const limit = 3

// observedStore is a Store in memory that checks the rules in each of its states.
type observedStore struct {
	*rmwtest.Memory

	sessions map[string]session.Session
	agents   map[string]mcc.Agent
	visitors map[string]session.Visitor

	violations map[string]string // the first of each rule
}

func newObservedStore() *observedStore {
	return &observedStore{
		Memory:   rmwtest.NewMemory(),
		sessions: map[string]session.Session{}, agents: map[string]mcc.Agent{}, visitors: map[string]session.Visitor{},
		violations: map[string]string{},
	}
}

// Update implements [rmw.Store].
func (w *observedStore) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	res, err := w.Memory.Update(ctx, key, fn)
	if res.Written {
		w.observe(key.Name, res.After)
	}
	return res, err
}

func (w *observedStore) observe(name string, v rmw.Value) {
	switch kind, id, _ := strings.Cut(name, ":"); kind {
	case "session":
		put(w.sessions, id, v)
	case "visitor":
		put(w.visitors, id, v)
	case "agent":
		before := w.agents[id]
		put(w.agents, id, v)
		w.checkReservations(before, w.agents[id])
	}
	w.checkSlots()
	w.checkOwners()
	w.checkVisitors()
}

// put stores the entity of v, or removes it.
func put[T any](all map[string]T, id string, v rmw.Value) {
	if !v.Exists() {
		delete(all, id)
		return
	}
	var t T
	if err := json.Unmarshal([]byte(v.Text()), &t); err != nil {
		panic(err) // a test's own
	}
	all[id] = t
}

func (w *observedStore) violated(rule, format string, args ...any) {
	if w.violations[rule] == "" {
		w.violations[rule] = rule + ": " + fmt.Sprintf(format, args...)
	}
}

// checkReservations checks M5: no slot is reserved with an agent that is not online and accepting.
func (w *observedStore) checkReservations(before, after mcc.Agent) {
	for id, slot := range after.Slots {
		old, there := before.Slots[id]
		fresh := !there || old.Epoch < slot.Epoch
		if fresh && slot.State == mcc.Reserved && (after.Status != mcc.Online || !after.Accepting) {
			w.violated("M5", "agent %s is %s, and %s was reserved", after.ID, after.Status, id)
		}
	}
}

// checkSlots checks M1: no more slots than permitted.
func (w *observedStore) checkSlots() {
	for id, a := range w.agents {
		n := 0
		for _, slot := range a.Slots {
			if !slot.Forced {
				n++
			}
		}
		if n > limit {
			w.violated("M1", "agent %s has %d slots of %d", id, n, limit)
		}
	}
}

// checkOwners checks M2 and M4: an agent with a session has a slot, and no two agents hold the same session. With M1,
// no agent has more sessions than permitted.
func (w *observedStore) checkOwners() {
	for id, s := range w.sessions {
		if s.AgentID == "" {
			continue
		}
		if _, there := w.agents[s.AgentID].Slots[id]; !there {
			w.violated("M2", "agent %s has session %s and no slot for it", s.AgentID, id)
		}
		for other, a := range w.agents {
			if slot, there := a.Slots[id]; there && other != s.AgentID && slot.State == mcc.Held && slot.Epoch == s.Epoch {
				w.violated("M4", "agents %s and %s hold session %s", s.AgentID, other, id)
			}
		}
	}
}

// checkVisitors checks V1: one open session for a visitor, the one that the entry names.
func (w *observedStore) checkVisitors() {
	of := map[string]string{}
	for id, s := range w.sessions {
		if s.Status == session.Closed || s.VisitorID == "" {
			continue
		}
		if other, twice := of[s.VisitorID]; twice {
			w.violated("V1", "visitor %s has sessions %s and %s open", s.VisitorID, other, id)
		}
		of[s.VisitorID] = id
		if named := w.visitors[s.VisitorID].SessionID; named != id {
			w.violated("V1", "visitor %s has session %s open, and the entry names %q", s.VisitorID, id, named)
		}
	}
}

// rest checks M3: at rest, an agent has slots for its sessions only.
func (w *observedStore) rest() {
	for id, a := range w.agents {
		for sid, slot := range a.Slots {
			if s := w.sessions[sid]; s.AgentID != id || slot.State != mcc.Held || slot.Epoch > s.Epoch {
				w.violated("M3", "agent %s keeps a slot (%s, epoch %d) for session %s (%s, of %q, epoch %d)",
					id, slot.State, slot.Epoch, sid, s.Status, s.AgentID, s.Epoch)
			}
		}
	}
}

// quiet fails if a rule was broken, or is at rest.
func (w *observedStore) quiet(t *testing.T) {
	t.Helper()
	w.rest()
	assert.Empty(t, w.broken())
}

// broken lists the first violation of each broken rule.
func (w *observedStore) broken() string {
	return strings.Join(slices.Sorted(maps.Values(w.violations)), "\n")
}
