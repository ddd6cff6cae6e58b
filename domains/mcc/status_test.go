package mcc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/rmw"
)

// The groups are the caller's no longer once they are set.
func TestGroupsAreCopied(t *testing.T) {
	groups := []string{"g1", "g2"}
	a := made(mcc.Online, true, nil)
	require.NoError(t, a.SetGroups(at(1), groups))
	groups[0] = "other"
	assert.Equal(t, []string{"g1", "g2"}, a.Groups)
}

// Create uses the documented fields of info only.
func TestCreate(t *testing.T) {
	each(t, mcc.Config{}, func(b *fixture) {
		op := b.op(3)
		info := mcc.Agent{
			ID: "other", TenantID: "t", Max: 4, Groups: []string{"g"}, Status: mcc.Online, Accepting: true,
			Slots: map[string]mcc.Slot{"s": {State: mcc.Held}}, LastAssignedAt: at(1),
		}
		a, err := b.agents.Create(b.Context(), "a", op, info)
		require.NoError(b, err)
		assert.Equal(b, mcc.Agent{
			Header: domains.Header{Format: 1, Version: 1, Applied: []domains.Applied{{ID: op.ID, Op: "Create"}}},
			ID:     "a", TenantID: "t", Max: 4, Groups: []string{"g"}, Status: mcc.Offline, StatusAt: at(3), UpdatedAt: at(3),
		}, a)
		assert.Equal(b, a, b.get())
		b.untouched("Create again", func() {
			again, err := b.agents.Create(b.Context(), "a", op, info)
			require.NoError(b, err)
			assert.Equal(b, a, again)
			_, err = b.agents.Create(b.Context(), "a", b.op(4), info)
			assert.ErrorIs(b, err, mcc.ErrAgentExists)
		})
	})
}

// Each refusal has a code, which a service may show. When each is met, the model says.
func TestCodes(t *testing.T) {
	for code, refusal := range map[string]*domains.Refusal{
		"no_agent": mcc.ErrNoAgent, "agent_exists": mcc.ErrAgentExists, "agent_full": mcc.ErrFull,
		"not_accepting": mcc.ErrNotAccepting, "slot_moved_on": mcc.ErrMovedOn, "status": mcc.ErrStatus,
	} {
		assert.Equal(t, code, refusal.Code())
	}
}

// Arguments that cannot be used are refused, and leave the agent as before.
func TestUnusableArguments(t *testing.T) {
	calls := map[string]func(a *mcc.Agent) error{
		"a limit below no limit": func(a *mcc.Agent) error { return a.SetMax(at(1), -2) },
		"too many groups": func(a *mcc.Agent) error {
			return a.SetGroups(at(1), strings.Fields(strings.Repeat("g ", mcc.MaxGroups+1)))
		},
	}
	for _, bad := range []string{"", long, garbled} {
		calls[fmt.Sprintf("the group %.9q", bad)] = func(a *mcc.Agent) error { return a.SetGroups(at(1), []string{"g", bad}) }
		calls[fmt.Sprintf("the session %.9q", bad)] = func(a *mcc.Agent) error { return a.Reserve(at(1), bad, 1, at(2), 9, false) }
	}
	for name, call := range calls {
		a := made(mcc.Online, true, map[string]mcc.Slot{"s": slotOf(mcc.Held)})
		before := copied(a)
		require.ErrorIs(t, call(&a), rmw.ErrInvalid, name)
		assert.Equal(t, before, a, name)
	}
	for _, status := range []mcc.Status{"", "lunch", "ONLINE"} {
		a := made(mcc.Online, true, nil)
		require.ErrorIs(t, a.SetStatus(at(1), status), mcc.ErrStatus)
	}
}

// No operation but Create creates an agent.
func TestNoAgent(t *testing.T) {
	b := onMemory(t, mcc.Config{})
	for name, call := range map[string]func() error{
		"Get":     func() error { _, err := b.agents.Get(b.Context(), "a"); return err },
		"Edit":    func() error { _, err := b.agents.SignOff(b.Context(), "a", b.op(1)); return err },
		"Reserve": func() error { _, err := b.reserve("s", 1, true); return err },
		"Confirm": func() error { _, err := b.agents.Confirm(b.Context(), "a", minute(1), "s", 1); return err },
		"Release": func() error { _, err := b.agents.Release(b.Context(), "a", minute(1), "s", 1); return err },
	} {
		b.untouched(name, func() {
			require.EqualError(b, call(), `agent "a": there is no such agent`, name)
		})
	}
}
