package mcc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// The limits of a stored agent, as the package documents them.
const (
	maxSlots = 10_000
	maxEpoch = 1<<53 - 1
)

// start is the first time of these tests; later times are minutes after it.
var start = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }

func at(n int) domains.Time { return domains.At(minute(n)) }

// Invalid ids and texts.
var (
	long    = strings.Repeat("x", 5000)
	garbled = "\xff"
)

// layouts are all layouts.
func layouts() []domains.Layout {
	return []domains.Layout{domains.JSON, domains.Hash, domains.HashByVersion}
}

func statuses() []mcc.Status { return []mcc.Status{mcc.Online, mcc.Busy, mcc.Away, mcc.Offline} }

// fixture is a store with agents, in one layout.
type fixture struct {
	*testing.T
	target rmwtest.Target
	layout domains.Layout
	agents mcc.Agents
	ops    int
}

// each runs test in all layouts, on the store in memory. TestEveryPath covers the paths.
func each(t *testing.T, cfg mcc.Config, test func(b *fixture)) {
	for _, layout := range layouts() {
		t.Run(layout.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg.Layout = layout
				test(onMemory(t, cfg))
			})
		})
	}
}

// onMemory is a fixture over the store in memory, without fake time.
func onMemory(t *testing.T, cfg mcc.Config) *fixture {
	m := rmwtest.NewMemory()
	target := rmwtest.Target{Open: func() rmw.Store { return m }, Direct: m}
	return &fixture{T: t, target: target, layout: cfg.Layout, agents: mcc.New(m, cfg)}
}

// op is an operation of its own that happens n minutes after the start.
func (b *fixture) op(n int) domains.Op {
	b.ops++
	return domains.Op{ID: fmt.Sprint("op-", b.ops), At: minute(n)}
}

// made returns an agent with a state since minute 0 and these slots.
func made(status mcc.Status, accepting bool, slots map[string]mcc.Slot) mcc.Agent {
	return mcc.Agent{
		Header: domains.Header{Format: 1, Version: 9, Applied: []domains.Applied{{ID: "before"}}},
		ID:     "a", TenantID: "t", Status: status, Accepting: accepting, Slots: slots,
		StatusAt: at(0), UpdatedAt: at(0),
	}
}

// in stores an agent.
func (b *fixture) in(a mcc.Agent) mcc.Agent {
	b.Helper()
	v, err := domains.CodecOf[mcc.Agent, *mcc.Agent](b.layout, nil).Encode(&a, rmw.Value{})
	require.NoError(b, err)
	require.NoError(b, b.target.Direct.Set(b.Context(), "agent:a", v, rmw.NoTTL))
	return b.get()
}

// online stores an agent that accepts sessions.
func (b *fixture) online(slots map[string]mcc.Slot) mcc.Agent {
	b.Helper()
	return b.in(made(mcc.Online, true, slots))
}

// changed compares an agent with the expected one, and with the stored one.
func changed(b *fixture, want, got mcc.Agent) {
	b.Helper()
	assert.Equal(b, want.Version+1, got.Version)
	want.Header = got.Header
	assert.Equal(b, want, got)
	assert.Equal(b, got, b.get(), "what was returned is not what is stored")
}

// slotOf is a slot of epoch 5, taken at minute 0.
func slotOf(state mcc.SlotState) mcc.Slot {
	if state == mcc.Held {
		return mcc.Slot{Epoch: 5, State: mcc.Held, Since: at(0)}
	}
	return mcc.Slot{Epoch: 5, State: mcc.Reserved, Since: at(0), Until: at(2)}
}

// get returns the agent "a".
func (b *fixture) get() mcc.Agent {
	b.Helper()
	a, err := b.agents.Get(b.Context(), "a")
	require.NoError(b, err)
	return a
}

// reserve takes a slot until minute 2, at minute 1.
func (b *fixture) reserve(id string, epoch uint64, forced bool) (mcc.Agent, error) {
	return b.agents.Reserve(b.Context(), "a", minute(1), id, epoch, minute(2), forced)
}

// look returns what lies under a key, and how long it has left.
func (b *fixture) look(key string) (rmw.Value, time.Duration) {
	b.Helper()
	v, ttl, err := b.target.Direct.Get(b.Context(), key)
	require.NoError(b, err)
	return v, ttl
}

// untouched asserts that call changes neither the value nor the expiry of the agent.
func (b *fixture) untouched(what string, call func()) {
	b.Helper()
	value, ttl := b.look("agent:a")
	call()
	after, left := b.look("agent:a")
	assert.True(b, value.Equal(after), "%s: something was written", what)
	assert.Equal(b, ttl, left, "%s: the expiry changed", what)
}

// put stores a document as another service would have: as it is, or as the hash with the same fields.
func (b *fixture) put(document string) {
	b.Helper()
	require.NoError(b, b.target.Direct.Set(b.Context(), "agent:a", stored(b, b.layout, document), rmw.NoTTL))
}

// stored is a document as it lies in the store. In a hash, each slot has a field.
func stored(t testing.TB, layout domains.Layout, document string) rmw.Value {
	t.Helper()
	if layout == domains.JSON {
		return rmw.String(document)
	}
	var fields, slots map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(document), &fields))
	if raw, ok := fields["slots"]; ok {
		require.NoError(t, json.Unmarshal(raw, &slots))
		delete(fields, "slots")
	}
	hash := map[string]string{}
	for name, raw := range fields {
		hash[name] = string(raw)
		if raw[0] == '"' {
			var text string
			require.NoError(t, json.Unmarshal(raw, &text))
			hash[name] = text
		}
	}
	for id, raw := range slots {
		hash["slot:"+id] = string(raw)
	}
	return rmw.Hash(hash)
}
