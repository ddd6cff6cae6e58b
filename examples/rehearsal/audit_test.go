package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// streamOf returns a stream of one post per member in one room.
func streamOf(room string, members int) (out []event) {
	for i := range members {
		out = append(out, event{Room: room, Op: "post", Member: i, ID: i, InRoom: i + 1})
	}
	return out
}

// applied returns the rooms after these events, in order.
func applied(stream []event, ids ...int) map[string]room {
	rooms := map[string]room{}
	for _, id := range ids {
		r := rooms[stream[id].Room]
		r.apply(stream[id])
		rooms[stream[id].Room] = r
	}
	return rooms
}

// Negative controls: the audit finds each planted violation.
func TestAudit(t *testing.T) {
	stream := streamOf("a", 4)
	all := []fate{acknowledged, acknowledged, acknowledged, acknowledged}
	for _, tt := range []struct {
		name  string
		fates []fate
		rooms map[string]room
		want  audit
	}{
		{"clean", all, applied(stream, 0, 1, 2, 3), audit{Acknowledged: 4}},
		{"in another order", all, applied(stream, 3, 1, 2, 0), audit{Acknowledged: 4}},
		{"lost", all, applied(stream, 0, 1, 3), audit{Acknowledged: 4, Lost: []int{2}, Different: []string{"a"}}},
		{"all lost", all, nil, audit{Acknowledged: 4, Lost: []int{0, 1, 2, 3}, Different: []string{"a"}}},
		{"doubled", all, applied(stream, 0, 1, 1, 2, 3), audit{Acknowledged: 4, Doubled: []int{1}, Different: []string{"a"}}},
		{
			"one lost and one doubled, so the counts agree", all, applied(stream, 0, 0, 1, 2),
			audit{Acknowledged: 4, Lost: []int{3}, Doubled: []int{0}},
		},
		{
			"written though refused", []fate{acknowledged, refused, acknowledged, acknowledged}, applied(stream, 0, 1, 2, 3),
			audit{Acknowledged: 3, Phantom: []int{1}, Different: []string{"a"}},
		},
		{
			"unclear and written", []fate{acknowledged, unclear, acknowledged, untried}, applied(stream, 0, 1, 2),
			audit{Acknowledged: 2, Unclear: 1},
		},
		{
			"unclear and not written", []fate{acknowledged, unclear, acknowledged, untried}, applied(stream, 0, 2),
			audit{Acknowledged: 2, Unclear: 1},
		},
		{
			"unclear and doubled", []fate{acknowledged, unclear, acknowledged, untried}, applied(stream, 0, 1, 1, 2),
			audit{Acknowledged: 2, Unclear: 1, Doubled: []int{1}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := judge(stream, tt.fates, tt.rooms)
			require.Equal(t, tt.want, got)
			clean := len(tt.want.Lost)+len(tt.want.Doubled)+len(tt.want.Phantom)+len(tt.want.Different) == 0
			require.Equal(t, clean, got.clean())
		})
	}
}

// The audit finds a wrong state even if every event is recorded.
func TestAuditComparesTheStateItself(t *testing.T) {
	stream := streamOf("a", 2)
	rooms := applied(stream, 0, 1)
	r := rooms["a"]
	r.Posts--
	rooms["a"] = r
	got := judge(stream, []fate{acknowledged, acknowledged}, rooms)
	require.Equal(t, audit{Acknowledged: 2, Different: []string{"a"}}, got)
	require.False(t, got.clean())
}

func TestNumbers(t *testing.T) {
	var s numbers
	for _, n := range []int{1, 8, 9, 300} {
		require.False(t, s.has(n))
		s.add(n)
		require.True(t, s.has(n))
	}
	text, err := json.Marshal(s)
	require.NoError(t, err)
	var back numbers
	require.NoError(t, json.Unmarshal(text, &back))
	for n := range 400 {
		require.Equal(t, slices.Contains([]int{1, 8, 9, 300}, n), back.has(n), "%d in %s", n, text)
	}
}
