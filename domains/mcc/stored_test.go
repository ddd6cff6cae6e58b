package mcc_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/rmw"
)

// full is a document with every field, and foreign ones beside each. Its fields are in the order in which they
// are written.
const full = `{"format":1,"version":3,"applied":[{"id":"x","op":"SetMax"}],"id":"a","tenant_id":"t","status":"online",` +
	`"accepting":true,"max":4,"groups":["g"],"slots":{"other":{"epoch":1,"state":"held","since":4,"forced":true,"foreign":` +
	entities.Foreign + `},"s":{"epoch":5,"state":"reserved","since":5,"until":9,"foreign":` + entities.Foreign +
	`}},"last_assigned_at":6,"status_at":7,"updated_at":8,"foreign":` + entities.Foreign + `}`

// The stored form of an agent is a contract with other services, whose fields are kept.
func TestWireFormat(t *testing.T) {
	entities.WireFormat(t, full, func(a mcc.Agent) {
		assert.Equal(t, mcc.Agent{
			Header: domains.Header{Format: 1, Version: 3, Applied: []domains.Applied{{ID: "x", Op: "SetMax"}}},
			ID:     "a", TenantID: "t", Status: mcc.Online, Accepting: true, Max: 4, Groups: []string{"g"},
			Slots: map[string]mcc.Slot{
				"s":     {Epoch: 5, State: mcc.Reserved, Since: 5, Until: 9, Unknown: a.Slots["s"].Unknown},
				"other": {Epoch: 1, State: mcc.Held, Since: 4, Forced: true, Unknown: a.Slots["s"].Unknown},
			},
			LastAssignedAt: 6, StatusAt: 7, UpdatedAt: 8, Unknown: a.Unknown,
		}, a)
	})
}

// An agent that breaks a rule is an error that says which.
func TestCheck(t *testing.T) {
	entities.AssertBroken[mcc.Agent](t, full, map[string][]string{
		"the id of the agent":            {`{"id":""}`, `{"id":"LONG"}`},
		"the id of the tenant has 5000":  {`{"tenant_id":"LONG"}`},
		"the id of the group":            {`{"groups":["g",""]}`, `{"groups":["g","LONG"]}`},
		"the id of the session":          {`{"slots":{"":{"state":"held"}}}`, `{"slots":{"LONG":{"state":"held"}}}`},
		"the status is unknown":          {`{"status":null}`, `{"status":"lunch"}`},
		"max is below -1":                {`{"max":-2}`},
		"65 groups, at most 64":          {`{"groups":["g"` + strings.Repeat(`,"g"`, 64) + `]}`},
		"a slot is reserved or held":     {`{"slots":{"s":{"state":null}}}`, `{"slots":{"s":{"state":"lunch"}}}`},
		"a slot that is held has an end": {`{"slots":{"s":{"state":"held"}}}`},
		"the epoch of a slot is above":   {`{"slots":{"s":{"epoch":9007199254740992}}}`},
		"a time is before 1970 or after 9999": {
			`{"status_at":-1}`, `{"last_assigned_at":-1}`, `{"updated_at":-1}`,
			`{"slots":{"s":{"since":-1}}}`, `{"slots":{"s":{"until":-1}}}`, `{"slots":{"s":{"until":253402300800000}}}`,
		},
	})
}

// A stored agent keeps the rules and accepts operations, or is undecodable.
func FuzzDecode(f *testing.F) {
	entities.Seed[mcc.Agent](f,
		full,
		`{"id":"a","status":"offline"}`,
		`{"id":"","status":"offline"}`,
		`{"id":"b","status":"offline"}`,
		`{"id":"a","status":"online","accepting":true,"slots":{"s":{"epoch":0,"state":"reserved"}},"groups":["g"],"max":-1}`,
		`{"id":"a","status":"busy","updated_at":253402300799999,"slots":{"s":{"epoch":9007199254740991,"state":"held"}}}`,
		`{"id":"a","status":"away","slots":{"s":null,"":{}},"Status":1,"version":18446744073709551615,"format":1}`)
	get := func(ctx context.Context, store rmw.Store, layout domains.Layout) (mcc.Agent, error) {
		return mcc.New(store, mcc.Config{Layout: layout}).Get(ctx, "a")
	}
	entities.Fuzz(f, "agent:a", get, func(t *testing.T, layout domains.Layout, a mcc.Agent, cur rmw.Value) {
		require.Equal(t, "a", a.ID, "the id of the key")
		everyOperation(t, layout, a, cur)
	})
}

// everyOperation applies each operation to a decoded agent: after a success the agent can be stored, and a
// refusal leaves the agent as before.
func everyOperation(t *testing.T, layout domains.Layout, a mcc.Agent, cur rmw.Value) {
	a.Takes()
	mcc.New(nil, mcc.Config{}).Limit(a)
	var steps []step
	add := func(op string, s step) {
		s.Op = op
		steps = append(steps, s)
	}
	for _, status := range []mcc.Status{"online", "offline", "", "else"} {
		add("SetStatus", step{status: status})
	}
	add("SignOff", step{})
	add("SetAccepting", step{accepting: !a.Accepting})
	add("SetMax", step{limit: 3})
	add("SetMax", step{limit: -2})
	add("SetGroups", step{groups: []string{"g"}})
	add("SetGroups", step{groups: manyGroups()})
	for _, op := range []string{"Reserve", "Confirm", "Release"} {
		add(op, step{session: "new", epoch: 1, limit: -1})
		for id, s := range a.Slots {
			for _, epoch := range []uint64{s.Epoch, min(s.Epoch+1, maxEpoch)} {
				add(op, step{session: id, epoch: epoch, limit: 1})
				add(op, step{session: id, epoch: epoch, accepting: true, until: 253402300799999})
			}
			break
		}
	}
	for _, one := range steps {
		for _, moment := range []domains.Time{1, at(0), 253402300799999} {
			one.At = moment
			after, before := tidy(a), tidy(a)
			if err := one.run(&after); err != nil {
				require.True(t, reflect.DeepEqual(before, tidy(after)), "%v: %v, and the agent has changed", one, err)
				continue
			}
			require.NoError(t, after.Check(), "%v", one)
			entities.RoundTrip[mcc.Agent](t, layout, &after, cur)
		}
	}
}
