package mcc_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/rmw"
)

func FuzzDecode(f *testing.F) {
	entities.Seed(f, func(document string) rmw.Value { return stored(f, domains.Hash, document) },
		withForeign,
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
