package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A few rooms are busy, every member does every thing, and every run has the same events.
func TestEvents(t *testing.T) {
	stream := events(maxEvents)
	require.Equal(t, stream[:100], events(100))
	perRoom, did := map[string]int{}, map[event]bool{}
	for i, e := range stream {
		perRoom[e.Room]++
		require.Equal(t, i, e.ID)
		require.Equal(t, perRoom[e.Room], e.InRoom)
		did[event{Op: e.Op, Member: e.Member}] = true
	}
	require.Len(t, perRoom, 150)
	require.Len(t, did, 4*4*writers)
	require.Greater(t, perRoom["lobby"], 20*perRoom["team-149"], "the rooms are not skewed")
}
