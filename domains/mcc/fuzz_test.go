package mcc_test

import (
	"maps"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
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
	f.Fuzz(func(t *testing.T, hash bool, data []byte) {
		layout, v := entities.Fuzzed(hash, data)
		m := rmwtest.NewMemory()
		require.NoError(t, m.Set(t.Context(), "agent:a", v, rmw.NoTTL))
		a, err := mcc.New(m, mcc.Config{Layout: layout}).Get(t.Context(), "a")
		if !entities.Decoded(t, v, a, err) {
			return
		}
		require.NoError(t, a.Check())
		require.Equal(t, "a", a.ID, "the id of the key")
		entities.RoundTrip[mcc.Agent](t, layout, &a, v)
		everyOperation(t, layout, a, v)
	})
}

// everyOperation applies each operation to a decoded agent: after a success the agent can be stored, and a
// refusal leaves the agent as before.
func everyOperation(t *testing.T, layout domains.Layout, a mcc.Agent, cur rmw.Value) {
	a.Takes()
	mcc.New(nil, mcc.Config{}).Limit(a)
	var steps []step
	for _, status := range []string{"online", "offline", "", "else"} {
		steps = append(steps, step{op: "SetStatus", status: status})
	}
	steps = append(steps, step{op: "SignOff"}, step{op: "SetAccepting", accepting: !a.Accepting},
		step{op: "SetMax", limit: 3}, step{op: "SetMax", limit: -2},
		step{op: "SetGroups", groups: []string{"g"}}, step{op: "SetGroups", groups: manyGroups()})
	for _, op := range []string{"Reserve", "Confirm", "Release"} {
		steps = append(steps, step{op: op, session: "new", epoch: 1, limit: -1})
		for id, s := range a.Slots {
			for _, epoch := range []uint64{s.Epoch, min(s.Epoch+1, maxEpoch)} {
				steps = append(steps,
					step{op: op, session: id, epoch: epoch, limit: 1},
					step{op: op, session: id, epoch: epoch, accepting: true, until: 253402300799999})
			}
			break
		}
	}
	for _, one := range steps {
		for _, moment := range []domains.Time{1, at(0), 253402300799999} {
			one.at = moment
			after, before := copied(a), copied(a)
			if err := one.run(&after); err != nil {
				require.True(t, reflect.DeepEqual(before, after), "%v: %v, and the agent has changed", one, err)
				continue
			}
			require.NoError(t, after.Check(), "%v", one)
			entities.RoundTrip[mcc.Agent](t, layout, &after, cur)
		}
	}
}

// copied is an agent with slots of its own.
func copied(a mcc.Agent) mcc.Agent {
	a.Slots = maps.Clone(a.Slots)
	return a
}
