package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// applied returns the rooms after these events, in order.
func applied(stream []numbered, ids ...int) map[string]room {
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
	stream := streamOf("a", "ann", "bob", "cid", "dan")
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
	stream := streamOf("a", "ann", "bob")
	rooms := applied(stream, 0, 1)
	r := rooms["a"]
	r.Posts--
	rooms["a"] = r
	got := judge(stream, []fate{acknowledged, acknowledged}, rooms)
	require.Equal(t, audit{Acknowledged: 2, Different: []string{"a"}}, got)
	require.False(t, got.clean())
}

func TestSpans(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var s spans
		in := map[int]bool{}
		for range random.IntN(60) {
			n := 1 + random.IntN(40)
			require.Equal(t, !in[n], s.add(n), "add %d", n)
			in[n] = true
		}
		text, err := s.MarshalText()
		require.NoError(t, err)
		var back spans
		require.NoError(t, back.UnmarshalText(text))
		for n := range 45 {
			require.Equal(t, in[n], s.has(n), "%d in %s", n, text)
			require.Equal(t, in[n], back.has(n), "%d in %s read back", n, text)
		}
		for i := 1; i < len(s); i++ {
			require.Greater(t, s[i].from, s[i-1].to+1, "%s could be shorter", text)
		}
	}
}

func TestSpansRefuseWhatIsNoSet(t *testing.T) {
	for _, text := range []string{"x", "1-", "2-1", "3,1", "1-3,3", "0", "-1", ","} {
		assert.Error(t, new(spans).UnmarshalText([]byte(text)), text)
	}
}

// For all flags, each member has one writer, and every writer has events.
func TestWriterOf(t *testing.T) {
	busy := map[int]int{}
	run := replay{writers: 16, seed: 3}
	for i := range 900 {
		busy[run.writerOf(strings.Repeat("m", i%7)+string(rune('a'+i%26))+count(i))]++
	}
	require.Len(t, busy, 16)
	loads := make([]int, 0, len(busy))
	for _, n := range busy {
		loads = append(loads, n)
	}
	require.Less(t, slices.Max(loads), 3*slices.Min(loads))
}
