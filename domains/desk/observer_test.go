package desk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
)

// limit is how many sessions each agent of the tests may have.
const limit = 3

// observedStore is a Store in memory that checks the rules in each of its states.
type observedStore struct {
	mu      sync.Mutex
	values  map[string]rmw.Value
	version map[string]uint64

	sessions map[string]session.Session
	agents   map[string]mcc.Agent
	visitors map[string]session.Visitor

	snapshots  int
	violations map[string]int    // by rule
	first      map[string]string // the first of each
}

func newObservedStore() *observedStore {
	return &observedStore{
		values: map[string]rmw.Value{}, version: map[string]uint64{},
		sessions: map[string]session.Session{}, agents: map[string]mcc.Agent{}, visitors: map[string]session.Visitor{},
		violations: map[string]int{}, first: map[string]string{},
	}
}

// Read implements [rmw.Store].
func (w *observedStore) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	v, _ := w.load(key)
	return v, ctx.Err()
}

// Update implements [rmw.Store], as optimistically as can be.
func (w *observedStore) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	for attempt := 1; ; attempt++ {
		if err := ctx.Err(); err != nil {
			return rmw.Result{}, err
		}
		cur, version := w.load(key)
		next, err := fn(ctx, cur)
		if err != nil {
			return rmw.Result{Attempts: attempt}, err
		}
		write, _, err := driver.CheckWrite(key, cur, next)
		if err != nil || !write {
			return rmw.Result{Before: cur, After: cur, Attempts: attempt}, err
		}
		if w.commit(key, version, next) {
			return rmw.Result{Before: cur, After: next, Written: true, Attempts: attempt}, nil
		}
	}
}

func (w *observedStore) load(key rmw.Key) (rmw.Value, uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.values[key.Name], w.version[key.Name]
}

func (w *observedStore) commit(key rmw.Key, version uint64, next rmw.Value) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.version[key.Name] != version {
		return false
	}
	w.version[key.Name]++
	w.values[key.Name] = next
	w.observe(key.Name, next)
	return true
}

// observe takes a snapshot: nothing else is written meanwhile.
func (w *observedStore) observe(name string, v rmw.Value) {
	kind, id, _ := strings.Cut(name, ":")
	switch kind {
	case "session":
		w.sessions[id] = decode[session.Session](v)
	case "visitor":
		if v.Exists() {
			w.visitors[id] = decode[session.Visitor](v)
		} else {
			delete(w.visitors, id)
		}
	case "agent":
		if !v.Exists() {
			delete(w.agents, id)
			return
		}
		before := w.agents[id]
		w.agents[id] = decode[mcc.Agent](v)
		w.reservations(before, w.agents[id])
	}
	w.snapshots++
	w.slots()
	w.owners()
	w.open()
}

func decode[T any](v rmw.Value) T {
	var t T
	if err := json.Unmarshal([]byte(v.Text()), &t); err != nil {
		panic(err) // a test's own
	}
	return t
}

func (w *observedStore) violated(rule, format string, args ...any) {
	if w.violations[rule]++; w.violations[rule] == 1 {
		w.first[rule] = fmt.Sprintf(format, args...)
	}
}

// reservations checks M5: no slot is reserved with an agent that is not online and accepting.
func (w *observedStore) reservations(before, after mcc.Agent) {
	for id, slot := range after.Slots {
		old, there := before.Slots[id]
		fresh := !there || old.Epoch < slot.Epoch
		if fresh && slot.State == mcc.Reserved && (after.Status != mcc.Online || !after.Accepting) {
			w.violated("M5", "agent %s is %s, and %s was reserved", after.ID, after.Status, id)
		}
	}
}

// slots is M1: not more slots than permitted.
func (w *observedStore) slots() {
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

// owners checks M2 and M4: an agent with a session has a slot, and no two agents hold the same session.
func (w *observedStore) owners() {
	has := map[string]int{}
	for id, s := range w.sessions {
		if s.AgentID == "" {
			continue
		}
		slot, there := w.agents[s.AgentID].Slots[id]
		if !there {
			w.violated("M2", "agent %s has session %s and no slot for it", s.AgentID, id)
		}
		if !slot.Forced {
			has[s.AgentID]++
		}
		for other, a := range w.agents {
			if slot, there := a.Slots[id]; there && other != s.AgentID && slot.State == mcc.Held && slot.Epoch == s.Epoch {
				w.violated("M4", "agents %s and %s hold session %s", s.AgentID, other, id)
			}
		}
	}
	for agent, n := range has {
		if n > limit {
			w.violated("M1", "agent %s has %d sessions of %d", agent, n, limit)
		}
	}
}

// open is V1: one open session for a visitor, the one that the entry names.
func (w *observedStore) open() {
	of := map[string]string{}
	for id, s := range w.sessions {
		if s.Status == session.Closed || s.VisitorID == "" {
			continue
		}
		if other, twice := of[s.VisitorID]; twice {
			w.violated("V1", "visitor %s has sessions %s and %s open", s.VisitorID, other, id)
		}
		of[s.VisitorID] = id
		if w.visitors[s.VisitorID].SessionID != id {
			w.violated("V1", "visitor %s has session %s open, and the entry names %q", s.VisitorID, id, w.visitors[s.VisitorID].SessionID)
		}
	}
}

// rest checks M3: at rest, an agent has slots for its sessions only.
func (w *observedStore) rest() {
	w.mu.Lock()
	defer w.mu.Unlock()
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

// broken lists the broken rules; it is empty if there are none.
func (w *observedStore) broken() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.violations) == 0 {
		return ""
	}
	return fmt.Sprintf("%v in %d snapshots: %v", w.violations, w.snapshots, slicesOf(w.first))
}

func slicesOf(m map[string]string) []string {
	var all []string
	for rule := range maps.Keys(m) {
		all = append(all, rule+": "+m[rule])
	}
	return all
}
