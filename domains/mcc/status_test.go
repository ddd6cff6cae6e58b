package mcc_test

import (
	"fmt"
	"testing"
	"time"

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

// Create takes what it says it takes, and nothing else.
func TestCreate(t *testing.T) {
	each(t, mcc.Config{}, func(b *bench) {
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

// What the arguments do not permit comes back as that, and writes nothing.
func TestRefusals(t *testing.T) {
	for code, refusal := range map[string]*domains.Refusal{
		"no_agent": mcc.ErrNoAgent, "agent_exists": mcc.ErrAgentExists, "agent_full": mcc.ErrFull,
		"not_accepting": mcc.ErrNotAccepting, "slot_moved_on": mcc.ErrMovedOn, "status": mcc.ErrStatus,
	} {
		assert.Equal(t, code, refusal.Code())
	}
	type call = func(b *bench) error
	status := func(s mcc.Status) call {
		return func(b *bench) error { _, err := b.agents.SetStatus(b.Context(), "a", b.op(1), s); return err }
	}
	limit := func(n int) call {
		return func(b *bench) error { _, err := b.agents.SetMax(b.Context(), "a", b.op(1), n); return err }
	}
	groups := func(g ...string) call {
		return func(b *bench) error { _, err := b.agents.SetGroups(b.Context(), "a", b.op(1), g...); return err }
	}
	many := make([]string, mcc.MaxGroups+1)
	for i := range many {
		many[i] = fmt.Sprint("g", i)
	}
	reserve := func(id string, epoch uint64, moment, until time.Time) call {
		return func(b *bench) error {
			_, err := b.agents.Reserve(b.Context(), "a", moment, id, epoch, until, false)
			return err
		}
	}
	operation := func(op domains.Op) call {
		return func(b *bench) error { _, err := b.agents.SetAccepting(b.Context(), "a", op, false); return err }
	}
	for name, c := range map[string]struct {
		call call
		want error
	}{
		"no status":                  {status(""), mcc.ErrStatus},
		"another status":             {status("lunch"), mcc.ErrStatus},
		"a status in capitals":       {status("ONLINE"), mcc.ErrStatus},
		"a limit below no limit":     {limit(-2), rmw.ErrInvalid},
		"too many groups":            {groups(many...), rmw.ErrInvalid},
		"a group without a name":     {groups("g", ""), rmw.ErrInvalid},
		"a group with a long name":   {groups(long), rmw.ErrInvalid},
		"a garbled group":            {groups(garbled), rmw.ErrInvalid},
		"no session":                 {reserve("", 1, minute(1), minute(2)), rmw.ErrInvalid},
		"a long session":             {reserve(long, 1, minute(1), minute(2)), rmw.ErrInvalid},
		"a garbled session":          {reserve(garbled, 1, minute(1), minute(2)), rmw.ErrInvalid},
		"an epoch too many":          {reserve("s", mcc.MaxEpoch+1, minute(1), minute(2)), rmw.ErrInvalid},
		"no time":                    {reserve("s", 1, time.Time{}, minute(2)), rmw.ErrInvalid},
		"until before 1970":          {reserve("s", 1, minute(1), time.Unix(-9, 0)), rmw.ErrInvalid},
		"an operation without an id": {operation(domains.Op{At: minute(1)}), rmw.ErrInvalid},
		"an operation without time":  {operation(domains.Op{ID: "x"}), rmw.ErrInvalid},
		"an edit that breaks a rule": {func(b *bench) error {
			_, err := b.agents.Edit(b.Context(), "a", b.op(1), func(a *mcc.Agent) error { a.Status = "lunch"; return nil })
			return err
		}, rmw.ErrInvalid},
		"a confirmation with an epoch too many": {func(b *bench) error {
			_, err := b.agents.Confirm(b.Context(), "a", minute(1), "held", mcc.MaxEpoch+1)
			return err
		}, rmw.ErrInvalid},
	} {
		b := onMemory(t, mcc.Config{})
		b.online(map[string]mcc.Slot{"held": {Epoch: 3, State: mcc.Held}})
		b.untouched(name, func() {
			err := c.call(b)
			assert.ErrorIs(b, err, c.want, name)
			assert.Equal(b, domains.RefusalOf(c.want), domains.RefusalOf(err), "%v", err)
		})
	}
}

// An agent who does not exist is not made by the way.
func TestNoAgent(t *testing.T) {
	each(t, mcc.Config{}, func(b *bench) {
		for name, call := range map[string]func() error{
			"Get":          func() error { _, err := b.agents.Get(b.Context(), "a"); return err },
			"SetStatus":    func() error { _, err := b.agents.SetStatus(b.Context(), "a", b.op(1), mcc.Online); return err },
			"SetAccepting": func() error { _, err := b.agents.SetAccepting(b.Context(), "a", b.op(1), true); return err },
			"SetMax":       func() error { _, err := b.agents.SetMax(b.Context(), "a", b.op(1), 1); return err },
			"SetGroups":    func() error { _, err := b.agents.SetGroups(b.Context(), "a", b.op(1), "g"); return err },
			"SignOff":      func() error { _, err := b.agents.SignOff(b.Context(), "a", b.op(1)); return err },
			"Reserve":      func() error { _, err := b.reserve("s", 1, true); return err },
			"Confirm":      func() error { _, err := b.agents.Confirm(b.Context(), "a", minute(1), "s", 1); return err },
			"Release":      func() error { _, err := b.agents.Release(b.Context(), "a", minute(1), "s", 1); return err },
		} {
			b.untouched(name, func() {
				err := call()
				assert.ErrorIs(b, err, mcc.ErrNoAgent, name)
				assert.ErrorContains(b, err, `agent "a": `)
			})
		}
	})
}
