package chat_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/rmw"
)

// What these tests break on purpose, the checkers of the others have to see.

// sound is a room that breaks no rule.
func sound() *chat.Room {
	r := &chat.Room{
		ID: "7", Status: chat.Open, Cap: 3, OwnerID: "ann", Seq: 5, CreatedAt: sec(0), ActiveAt: sec(9),
		Members: map[string]chat.Member{
			"ann": {Role: chat.Agent, JoinedAt: sec(1), ReadSeq: 5}, "bob": {JoinedAt: sec(2), ReadSeq: 3}, "abe": {JoinedAt: sec(2)},
		},
	}
	r.Format, r.Version = domains.Format, 3
	r.Applied = []domains.Applied{{ID: "a"}, {ID: "b"}, {ID: "c", Number: 5}}
	return r
}

// A room that breaks a rule is seen by the checker of the sequences, and refused by the
// codec, whose words these are. Where it has none, the package permits what its
// operations never make: rooms of other services.
func TestBrokenRoomsAreSeen(t *testing.T) {
	seen := map[string]bool{}
	for _, test := range []struct {
		mutate func(r *chat.Room)
		rule   string
		says   string
	}{
		{func(r *chat.Room) { r.Cap = 2 }, "cap", "3 members where 2 are permitted"},
		{func(r *chat.Room) { r.Cap = -1 }, "cap", "cap is negative"},
		{func(r *chat.Room) { r.OwnerID = "zoe" }, "owner", "the owner is not one of the members"},
		{func(r *chat.Room) { r.OwnerID = "" }, "owner", "the owner is not one of the members"},
		{func(r *chat.Room) { r.Members = nil }, "owner", "a room without members has an owner"},
		{func(r *chat.Room) { r.Status = "asleep" }, "status", `the status of a room is "open" or "closed"`},
		{func(r *chat.Room) { r.Status = "" }, "status", `the status of a room is "open" or "closed"`},
		{func(r *chat.Room) { r.Status = chat.Closed }, "end", "a time of closing if and only if it is closed"},
		{func(r *chat.Room) { r.ClosedAt = r.ActiveAt }, "end", "a time of closing if and only if it is closed"},
		{func(r *chat.Room) { r.CreatedAt = sec(10) }, "times", "are not in this order"},
		{func(r *chat.Room) { r.Status, r.ClosedAt = chat.Closed, sec(8) }, "times", "are not in this order"},
		{func(r *chat.Room) { r.Status, r.ClosedAt = chat.Closed, sec(10) }, "times", ""},
		{func(r *chat.Room) { r.Seq = 4 }, "read", "a member has read 5 messages of 4"},
		{func(r *chat.Room) { with(r, "bob", func(m *chat.Member) { m.ReadSeq = 6 }) }, "read", "a member has read 6 messages of 5"},
		{func(r *chat.Room) { with(r, "bob", func(m *chat.Member) { m.JoinedAt = sec(10) }) }, "joined", "after the room was last active"},
		{func(r *chat.Room) { with(r, "bob", func(m *chat.Member) { m.JoinedAt = 5 }) }, "joined", ""},
		{func(r *chat.Room) { with(r, "bob", func(m *chat.Member) { m.JoinedAt = -1 }) }, "joined", "after the room was last active"},
		{func(r *chat.Room) { r.CreatedAt = -1 }, "real time", "a time is before 1970 or after 9999"},
		{func(r *chat.Room) { r.ActiveAt = 253402300800000 }, "real time", "a time is before 1970 or after 9999"},
		{func(r *chat.Room) { r.Applied[0].ID = "b" }, "remembered once", "an operation is remembered twice"},
		{func(r *chat.Room) { r.Applied[0].ID = "" }, "remembered once", "a remembered operation has no id"},
		{func(r *chat.Room) { r.Applied = r.Applied[1:] }, "remembered", ""},
		{func(r *chat.Room) {
			for i := range 30 {
				r.Applied = append(r.Applied, domains.Applied{ID: strings.Repeat("x", i+1)})
			}
		}, "remembered", "33 operations remembered, at most 32 are"},
	} {
		r := sound()
		require.Empty(t, brokenState(r))
		require.NoError(t, r.Check())
		test.mutate(r)
		assert.Contains(t, brokenState(r), test.rule)
		seen[test.rule] = true
		for _, layout := range layouts() {
			_, err := domains.CodecOf[chat.Room, *chat.Room](layout, nil).Encode(r, rmw.Value{})
			if test.says == "" {
				assert.NoError(t, err, test.rule)
				continue
			}
			assert.ErrorIs(t, err, rmw.ErrInvalid, test.rule)
			assert.ErrorContains(t, err, test.says)
		}
	}
	assert.Len(t, seen, 10, "every rule of brokenState: %q", slices.Sorted(maps.Keys(seen)))
}

// What Check says of texts and ids, no operation can make; a stored room can hold it.
func TestCheckOfTexts(t *testing.T) {
	for says, mutate := range map[string]func(r *chat.Room){
		"the id of the room is empty":        func(r *chat.Room) { r.ID = "" },
		"the id of the tenant has 129 bytes": func(r *chat.Room) { r.TenantID = strings.Repeat("t", 129) },
		"the name has 257 bytes":             func(r *chat.Room) { r.Name = strings.Repeat("n", 257) },
		"the topic is not UTF-8":             func(r *chat.Room) { r.Topic = "\xff" },
		"the id of the member is empty":      func(r *chat.Room) { r.Members[""] = chat.Member{} },
		"the role has 65 bytes": func(r *chat.Room) {
			with(r, "bob", func(m *chat.Member) { m.Role = chat.Role(strings.Repeat("r", 65)) })
		},
	} {
		r := sound()
		if mutate(r); len(r.Members) > 3 {
			r.Cap = 0
		}
		assert.ErrorContains(t, r.Check(), says)
	}
}

// A change that breaks a rule is seen by the checker of the sequences.
func TestBrokenChangesAreSeen(t *testing.T) {
	for _, test := range []struct {
		op     string
		before func(r *chat.Room)
		change func(r *chat.Room)
		rule   string
	}{
		{op: "Touch", change: func(r *chat.Room) { r.Version -= 1; r.ActiveAt++ }, rule: "version"},
		{op: "Touch", change: func(r *chat.Room) { r.Version++ }, rule: "version"},
		{op: "Touch", change: func(r *chat.Room) { r.ActiveAt-- }, rule: "time"},
		{op: "Touch", change: func(r *chat.Room) { r.CreatedAt-- }, rule: "identity"},
		{op: "Touch", change: func(r *chat.Room) { r.ID = "8" }, rule: "identity"},
		{op: "Touch", change: func(r *chat.Room) { r.OwnerID = "bob" }, rule: "owner"},
		{op: "Touch", change: closed, rule: "transition"},
		{op: "Close", rule: "transition"},
		{op: "Close", before: closed, change: func(r *chat.Room) { r.Status, r.ClosedAt = chat.Open, 0 }, rule: "transition"},
		{op: "Join", before: closed, rule: "closed"},
		{op: "Open", rule: "transition"},
		{op: "Post", change: func(r *chat.Room) { r.Seq-- }, rule: "seq"},
		{op: "Post", change: func(r *chat.Room) { r.Seq += 2 }, rule: "seq"},
		{op: "MarkRead", change: func(r *chat.Room) { with(r, "bob", func(m *chat.Member) { m.ReadSeq-- }) }, rule: "read back"},
		{op: "Join", change: func(r *chat.Room) { with(r, "bob", func(m *chat.Member) { m.JoinedAt++ }) }, rule: "joined again"},
		{op: "Join", change: func(r *chat.Room) { r.Members["cid"] = chat.Member{JoinedAt: sec(9)} }, rule: "unread before"},
		{op: "Join", change: func(r *chat.Room) { r.Members["cid"] = chat.Member{ReadSeq: 5, JoinedAt: sec(1)} }, rule: "joined before"},
		{op: "Leave", change: gone("bob", "ann"), rule: "heir"},
		{op: "Leave", before: func(r *chat.Room) { with(r, "bob", func(m *chat.Member) { m.JoinedAt-- }) },
			change: gone("abe", "ann"), rule: "heir"},
		{op: "Leave", change: gone("", "ann", "bob", "abe"), rule: "the last"},
		{op: "Leave", before: func(r *chat.Room) { r.StayOpen = true },
			change: func(r *chat.Room) { closed(r); gone("", "ann", "bob", "abe")(r) }, rule: "the last"},
	} {
		prev := sound()
		if test.before != nil {
			test.before(prev)
		}
		next := tidy(*prev)
		next.Version++
		if test.change != nil {
			test.change(&next)
		}
		assert.Contains(t, brokenChange(prev, &next, test.op), test.rule, "%s %s", test.op, test.rule)
	}
	for op, change := range map[string]func(r *chat.Room){
		"Touch": active, "Leave": gone("abe", "ann"), "Close": closed, "TransferOwner": func(r *chat.Room) { r.OwnerID = "bob" },
		"Join": func(r *chat.Room) { r.Members["cid"] = chat.Member{ReadSeq: 5, JoinedAt: sec(9)} },
	} {
		next := tidy(*sound())
		next.Version++
		change(&next)
		assert.Empty(t, brokenChange(sound(), &next, op), op)
	}
	assert.Empty(t, brokenChange(sound(), sound(), "Touch"))
}

// Had the package one of these mistakes, the sequences would find it.
func TestSequencesFindMistakes(t *testing.T) {
	for name, mischief := range map[string]func(prev, next *chat.Room, s step){
		"the youngest is the heir": func(prev, next *chat.Room, _ step) {
			if _, stays := next.Members[prev.OwnerID]; !stays && prev.OwnerID != "" && len(next.Members) > 0 {
				next.OwnerID = slices.MaxFunc(slices.Sorted(maps.Keys(next.Members)), func(a, b string) int {
					return int(next.Members[a].JoinedAt - next.Members[b].JoinedAt)
				})
			}
		},
		"a version is not counted": func(prev, next *chat.Room, _ step) { next.Version = prev.Version },
		"a clock runs backwards": func(_, next *chat.Room, s step) {
			if s.op == "Touch" || s.op == "Post" {
				next.ActiveAt = s.at
			}
		},
		"a number is skipped": func(prev, next *chat.Room, s step) {
			if next.Seq > prev.Seq && s.op == "Post" {
				next.Seq++
			}
		},
		"a mark is taken back": func(prev, next *chat.Room, s step) {
			if s.op == "MarkRead" {
				with(next, s.who, func(m *chat.Member) { m.ReadSeq = uint64(s.number) })
			}
		},
		"what is kept is written": func(prev, next *chat.Room, _ step) {
			if next.Version == prev.Version && next.Status == chat.Open {
				next.ActiveAt++
			}
		},
		"an operation is forgotten": func(_, next *chat.Room, _ step) { next.Applied = nil },
		"more than 32 are not":      func(_, next *chat.Room, _ step) { next.Applied = next.Applied[max(0, len(next.Applied)-31):] },
		"the last one leaves the lights on": func(prev, next *chat.Room, s step) {
			if s.op == "Remove" && len(next.Members) == 0 {
				next.Status, next.ClosedAt = chat.Open, 0
			}
		},
		"who comes back has an old mark": func(_, next *chat.Room, s step) {
			if _, in := next.Members[s.who]; in && s.op == "Join" {
				with(next, s.who, func(m *chat.Member) { m.ReadSeq = 0 })
			}
		},
	} {
		q := newSequence(domains.Hash)
		q.mischief = mischief
		found := false
		for seed := 0; seed < 200 && !found; seed++ {
			found = q.run(rapid.Custom(someSteps).Example(seed)) != nil
		}
		assert.True(t, found, name)
	}
}

// Without a mistake, what the mischief does finds none: it is not the harness that fails.
func TestMischiefAloneIsNone(t *testing.T) {
	q := newSequence(domains.Hash)
	q.mischief = func(_, _ *chat.Room, _ step) {}
	for seed := range 40 {
		require.NoError(t, q.run(rapid.Custom(someSteps).Example(seed)))
	}
}
