package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Members join before they leave, a few rooms are busy, and every run has the same events.
func TestDay(t *testing.T) {
	stream := day(dayEvents)
	require.Equal(t, stream[:100], day(100))
	perRoom, in := map[string]int{}, map[string]bool{}
	for i, e := range stream {
		perRoom[e.Room]++
		require.Equal(t, i, e.ID)
		require.Equal(t, perRoom[e.Room], e.InRoom)
		who := e.Room + "/" + e.Member
		require.Equal(t, e.Op != "join", in[who], "event %d: %v", i, e)
		in[who] = e.Op != "leave"
	}
	require.Len(t, perRoom, 150)
	require.Greater(t, perRoom["lobby"], 20*perRoom["team-149"], "the rooms are not skewed")
}
