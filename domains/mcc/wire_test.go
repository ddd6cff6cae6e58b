package mcc_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/rmw"
)

// foreign is what another service has put beside the fields that are known here, with more digits than a
// float64 has.
const foreign = `{"list":[1.50,12345678901234567890],"null":null}`

// withForeign is a document with every field, and foreign ones beside each. Its fields are in the order in
// which they are written.
const withForeign = `{"format":1,"version":3,"applied":[{"id":"x","op":"SetMax"}],"id":"a","tenant_id":"t","status":"online",` +
	`"accepting":true,"max":4,"groups":["g"],"slots":{"other":{"epoch":1,"state":"held","since":4,"forced":true,"foreign":` + foreign +
	`},"s":{"epoch":5,"state":"reserved","since":5,"until":9,"foreign":` + foreign +
	`}},"last_assigned_at":6,"status_at":7,"updated_at":8,"foreign":` + foreign + `}`

// The stored form of an agent is a contract with other services, whose fields are kept.
func TestWireFormat(t *testing.T) {
	inForm := func(layout domains.Layout) rmw.Value { return stored(t, layout, withForeign) }
	entities.WireFormat(t, inForm, func(a mcc.Agent) {
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

// unknown is that of another service. A hash keeps it only where that service stored it.
func unknown(layout domains.Layout) domains.Unknown {
	var a mcc.Agent
	if layout == domains.JSON {
		if err := json.Unmarshal([]byte(`{"foreign":`+foreign+`}`), &a); err != nil {
			panic(err)
		}
	}
	return a.Unknown
}
