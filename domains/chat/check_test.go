package chat_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/rmw"
)

// A room that breaks a rule is neither stored nor read, and the error says which rule.
func TestCheck(t *testing.T) {
	late := domains.Time(253402300800000)
	member := func(change func(m *chat.Member)) func(*chat.Room) {
		return func(r *chat.Room) { with(r, "bob", change) }
	}
	for _, test := range []struct {
		says   string
		change func(r *chat.Room)
	}{
		{"", func(*chat.Room) {}},
		{"", func(r *chat.Room) { r.Status, r.ClosedAt = chat.Closed, sec(10) }}, // a service of its own may close later
		{"3 members where 2 are permitted", func(r *chat.Room) { r.Cap = 2 }},
		{"cap is negative", func(r *chat.Room) { r.Cap = -1 }},
		{"the owner is not one of the members", func(r *chat.Room) { r.OwnerID = "zoe" }},
		{"the owner is not one of the members", func(r *chat.Room) { r.OwnerID = "" }},
		{"a room without members has an owner", func(r *chat.Room) { r.Members = nil }},
		{`the status of a room is "open" or "closed"`, func(r *chat.Room) { r.Status = "asleep" }},
		{`the status of a room is "open" or "closed"`, func(r *chat.Room) { r.Status = "" }},
		{"a time of closing if and only if it is closed", func(r *chat.Room) { r.Status = chat.Closed }},
		{"a time of closing if and only if it is closed", func(r *chat.Room) { r.ClosedAt = r.ActiveAt }},
		{"are not in this order", func(r *chat.Room) { r.CreatedAt = sec(10) }},
		{"are not in this order", func(r *chat.Room) { r.Status, r.ClosedAt = chat.Closed, sec(8) }},
		{"a member has read 5 messages of 4", func(r *chat.Room) { r.Seq = 4 }},
		{"a member has read 6 messages of 5", member(func(m *chat.Member) { m.ReadSeq = 6 })},
		{"after the room was last active", member(func(m *chat.Member) { m.JoinedAt = sec(10) })},
		{"after the room was last active", member(func(m *chat.Member) { m.JoinedAt = -1 })},
		{"a time is before 1970 or after 9999", func(r *chat.Room) { r.CreatedAt = -1 }},
		{"a time is before 1970 or after 9999", func(r *chat.Room) { r.ActiveAt = late }},
		{"the id of the room is empty", func(r *chat.Room) { r.ID = "" }},
		{"the id of the tenant has 129 bytes", func(r *chat.Room) { r.TenantID = long[:129] }},
		{"the name has 257 bytes", func(r *chat.Room) { r.Name = long[:257] }},
		{"the topic is not UTF-8", func(r *chat.Room) { r.Topic = "\xff" }},
		{"the id of the member is empty", func(r *chat.Room) { r.Members[""], r.Cap = chat.Member{}, 0 }},
		{"the role has 65 bytes", member(func(m *chat.Member) { m.Role = chat.Role(long[:65]) })},
	} {
		r := sound()
		test.change(r)
		if test.says == "" {
			require.NoError(t, r.Check())
		} else {
			assert.ErrorContains(t, r.Check(), test.says)
		}
	}
}

// The stored form of a room is a contract with other services.
func TestWireFormat(t *testing.T) {
	const document = `{"format":1,"version":3,"applied":[{"id":"a","op":"Post","number":5}],"id":"7","tenant_id":"t","name":"n",` +
		`"topic":"é","status":"closed","cap":3,"stay_open":true,"owner_id":"ann","members":{"ann":{"role":"agent","joined_at":4,` +
		`"read_seq":5,"muted":true,"x":[1]},"bob":{}},"seq":5,"created_at":4,"active_at":6,"closed_at":7,"x":{"y":9007199254740993}}`
	stored := func(layout domains.Layout) rmw.Value { return asStored(t, layout, document) }
	entities.WireFormat(t, stored, func(r chat.Room) {
		m := r.Members["ann"]
		assert.Equal(t, chat.Member{Role: "agent", JoinedAt: 4, ReadSeq: 5, Muted: true, Unknown: m.Unknown}, m)
		r.Unknown, r.Members = domains.Unknown{}, nil
		assert.Equal(t, chat.Room{
			Header: domains.Header{Format: 1, Version: 3, Applied: []domains.Applied{{ID: "a", Op: "Post", Number: 5}}},
			ID:     "7", TenantID: "t", Name: "n", Topic: "é", Status: chat.Closed, Cap: 3, StayOpen: true, OwnerID: "ann", Seq: 5,
			CreatedAt: 4, ActiveAt: 6, ClosedAt: 7,
		}, r)
	})
}
