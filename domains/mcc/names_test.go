package mcc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/rmw"
)

// What an agent remembers of an operation is its name in the table, and its id serves no
// other.
func TestOperationsAreRememberedByTheirNames(t *testing.T) {
	each(t, mcc.Config{}, func(b *bench) {
		type call = func(op domains.Op) (mcc.Agent, error)
		calls := map[string]call{
			"SetStatus":    func(op domains.Op) (mcc.Agent, error) { return b.agents.SetStatus(b.Context(), "a", op, mcc.Online) },
			"SetAccepting": func(op domains.Op) (mcc.Agent, error) { return b.agents.SetAccepting(b.Context(), "a", op, false) },
			"SetMax":       func(op domains.Op) (mcc.Agent, error) { return b.agents.SetMax(b.Context(), "a", op, 3) },
			"SetGroups":    func(op domains.Op) (mcc.Agent, error) { return b.agents.SetGroups(b.Context(), "a", op, "g") },
			"SignOff":      func(op domains.Op) (mcc.Agent, error) { return b.agents.SignOff(b.Context(), "a", op) },
			"Edit": func(op domains.Op) (mcc.Agent, error) {
				return b.agents.Edit(b.Context(), "a", op, func(a *mcc.Agent) error { return a.SetMax(op.Time(), 4) })
			},
		}
		op := b.op(0)
		_, err := b.agents.Create(b.Context(), "a", op, mcc.Agent{})
		require.NoError(b, err)
		for i, name := range []string{"SetStatus", "SetAccepting", "SetMax", "SetGroups", "SignOff", "Edit"} {
			b.untouched(name, func() {
				_, err := calls[name](op)
				require.ErrorIs(b, err, rmw.ErrInvalid, name)
				require.ErrorContains(b, err, `agent "a": `)
			})
			op = b.op(1 + i)
			a, err := calls[name](op)
			require.NoError(b, err)
			assert.Equal(b, domains.Applied{ID: op.ID, Op: name}, a.Applied[len(a.Applied)-1])
			if _, ok := mcc.Transitions().Next(name, string(mcc.Online), ""); name != "Edit" {
				assert.True(b, ok, name)
			}
		}
	})
}
